import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import type { DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import { download } from "./session-files.ts";

const RECORDING = 'one\u001b[2J\u0007 "é"\n';

let folder: string;
let store: Server;
let url: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-files-"));
  store = createServer(({ url: path }, response) => {
    if (path === "/away") response.writeHead(302, { location: "https://elsewhere.example.com" }).end();
    else response.writeHead(path === "/here" ? 200 : 404).end(RECORDING);
  });
  store.listen(0, "127.0.0.1");
  await once(store, "listening");
  url = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
});
afterEach(async () => {
  store.closeAllConnections();
  store.close();
  await rm(folder, { recursive: true, force: true });
});

async function fetched(readUrl: string | undefined, { to, isTTY = false }: { to?: string; isTTY?: boolean } = {}) {
  const said = { out: "", error: "" };
  const session = {
    id: "dbg_x",
    presignedUrls: readUrl === undefined ? {} : { recording: { readUrl, writeUrl: "" } },
  } as unknown as DebugSession;
  const surroundings = {
    env: {},
    clock: systemClock,
    isTTY,
    out(text: string) {
      said.out += text;
    },
    error(text: string) {
      said.error += text;
    },
    readInput: async () => "",
    askSecret: undefined,
    openBrowser: undefined,
  };
  await download(session, "recording", to, surroundings, new AbortController().signal);
  return said;
}

describe("a session's file", () => {
  it("goes to a pipe as it is, and to a terminal without what controls it", async () => {
    expect((await fetched(`${url}/here`)).out).toBe(RECORDING);
    expect((await fetched(`${url}/here`, { isTTY: true })).out).toBe('one\\u001b[2J\\u0007 "é"\n');
  });

  it("goes to a file of its owner alone, and to none that exists", async () => {
    const to = join(folder, "recording.cast");
    expect((await fetched(`${url}/here`, { to, isTTY: true })).out).toBe("");
    expect(await readFile(to, "utf8")).toBe(RECORDING);
    expect((await stat(to)).mode & 0o777).toBe(0o600);
    await expect(fetched(`${url}/here`, { to })).rejects.toThrow("exists");
  });

  it.each([
    ["none is kept", () => undefined, "keeps no files"],
    ["it is not there yet", () => `${url}/none`, "comes at the session's end"],
    ["the address leads elsewhere", () => `${url}/away`, "could not be fetched"],
    ["the address is unencrypted", () => "http://store.example.com/x", "not https"],
    ["the address is a file", () => "file:///etc/passwd", "not https"],
  ])("says so when %s", async (_, readUrl, words) => {
    await expect(fetched(readUrl())).rejects.toThrow(words);
  });
});
