import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lockFolder } from "../../platform/database/folder-lock.ts";
import { parsedDuration } from "../kernel/duration.ts";
import { makeFirstAdmin } from "./first-admin.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-cli-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const main = join(import.meta.dirname, "../../../bin/sallyport.mjs");

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

function sallyport(...args: readonly string[]): Promise<Ended> {
  const env = { PATH: process.env.PATH, HOME: folder, SALLYPORT_PLATFORM_DATA: join(folder, "data") };
  return new Promise((resolve) => {
    execFile(process.execPath, [main, "platform", ...args], { env, maxBuffer: 2 ** 25 }, (failure, out, error) => {
      resolve({ code: typeof failure?.code === "number" ? failure.code : 0, out, error });
    });
  });
}

describe("sallyport platform", () => {
  it("makes a workspace, keys and managers without a running platform", async () => {
    expect(await sallyport("workspaces", "create", "acme")).toMatchObject({ code: 0 });
    const key = await sallyport("keys", "create", "--workspace", "acme", "--role", "workspace.admin");
    expect(key).toMatchObject({ code: 0, out: expect.stringMatching(/^sp_w_[0-9a-z]{12}_\w{40}\n$/) });
    expect(key.error).toMatch(/^key apikey_\w+, shown now and never again:\n$/);
    const list = await sallyport("keys", "list", "-o", "json");
    expect(JSON.parse(list.out)).toMatchObject([{ workspace: "acme", role: "workspace.admin", state: "live" }]);
    expect(list.out).not.toContain(key.out.trim());
  });

  it("says in words that a folder is in use, and how it is called wrongly", async () => {
    const release = await lockFolder(join(folder, "busy"));
    const busy = await sallyport("keys", "list", "--data", join(folder, "busy"));
    release();
    expect(busy).toMatchObject({ code: 1, out: "", error: expect.stringMatching(/is in use by another process/) });
    expect(busy.error.trim().split("\n")).toHaveLength(1);
    expect(await sallyport("keys", "mint")).toMatchObject({
      code: 2,
      error: expect.stringContaining("there is no command keys mint; there are workspaces create"),
    });
    expect(await sallyport("keys", "create")).toMatchObject({
      code: 2,
      error: "sallyport platform: --workspace is missing\n",
    });
    expect(await sallyport("keys", "list", "--all")).toMatchObject({
      code: 2,
      error: expect.stringMatching(/Unknown option '--all'.*--help/),
    });
  });

  it("prints the OpenAPI document", async () => {
    const { out } = await sallyport("openapi");
    expect(JSON.parse(out)).toMatchObject({ openapi: "3.1.1" });
  });

  it("helps with each of its commands", async () => {
    expect((await sallyport("--help")).out).toMatch(/--data DIR[\s\S]*SALLYPORT_PLATFORM_PORT[\s\S]*keys revoke/);
    expect((await sallyport("keys", "revoke", "--help")).out).toContain("usage: sallyport platform keys revoke ID");
  });
});

describe("the first start", () => {
  const made = { workspaceId: "ws", keyId: "apikey", key: "sp_w_secret" };
  async function welcomed(isTTY: boolean, pglite: string, first: typeof made | undefined) {
    let asked = 0;
    const bootstrap = {
      first: async () => {
        asked += 1;
        return first;
      },
    };
    const start = { bootstrap, database: { pglite }, workspace: "acme", firstAdmin: undefined, isTTY };
    const said = (await makeFirstAdmin(start))?.("http://127.0.0.1:8080");
    return { asked, said };
  }

  it("shows the key on a terminal", async () => {
    const { said } = await welcomed(true, folder, made);
    expect(said).toContain("sp_w_secret");
    expect(said).toContain("sallyport login --url http://127.0.0.1:8080");
  });

  it("puts the key into a file that only its owner reads, where there is no terminal", async () => {
    const { said } = await welcomed(false, folder, made);
    expect(said).not.toContain("sp_w_secret");
    const file = join(folder, "first-admin-key");
    expect(said).toContain(file);
    expect(await readFile(file, "utf8")).toBe("sp_w_secret\n");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("makes no key where no person would see it", async () => {
    expect(await welcomed(false, "memory", made)).toEqual({ asked: 0, said: undefined });
  });

  it("says nothing when it is not the first", async () => {
    expect((await welcomed(true, folder, undefined)).said).toBeUndefined();
  });
});

it.each([
  ["90s", 90_000],
  ["15m", 900_000],
  ["12h", 43_200_000],
  ["30d", 2_592_000_000],
])("%s is %d ms", (text, ms) => {
  expect(parsedDuration("--in", text)).toBe(ms);
});

it.each(["", "0d", "1", "-1d", "1w", "1.5h"])("%j is no time", (text) => {
  expect(() => parsedDuration("--in", text)).toThrow("--in is a time such as 15m, 12h or 30d");
});
