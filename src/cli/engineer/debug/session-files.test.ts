import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import type { DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import { chainLine, chainStart } from "../../../debug-link/audit-chain.ts";
import { fetchRecording } from "./recording.ts";

const RECORDING = 'one\u001b[2J\u0007\u009b31m "é"\n';

let folder: string;
let store: Server;
let url: string;
let audit: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-files-"));
  audit = "";
  store = createServer(({ url: path }, response) => {
    if (path === "/audit" && audit !== "") response.end(audit);
    else if (path === "/away") response.writeHead(302, { location: "https://elsewhere.example.com" }).end();
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

interface Options {
  readonly to?: string;
  readonly isTTY?: boolean;
  readonly head?: string | null;
}

/** @param head of the audit, as the platform has it. */
async function fetched(readUrl: string | undefined, { to, isTTY = false, head = null }: Options = {}) {
  const said = { out: "", error: "", code: 0 };
  const session = {
    id: "dbg_x",
    auditHead: head,
    presignedUrls:
      readUrl === undefined
        ? {}
        : { recording: { readUrl, writeUrl: "" }, audit: { readUrl: `${url}/audit`, writeUrl: "" } },
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
  said.code = await fetchRecording(session, to, surroundings, new AbortController().signal);
  return said;
}

/** An audit that ends with `recording`. @returns its head */
function auditOf(...recordings: readonly unknown[]): string {
  let end = chainStart("uid", {});
  const line = (type: "open" | "close", fields: object): string => {
    const next = chainLine(end, new Date(0), type, { ...fields });
    end = next.end;
    return `${next.line}\n`;
  };
  audit = line("open", { uid: "uid", spec: {} });
  for (const recording of recordings) audit += line("close", { reason: "client", recording });
  return end.head;
}

const WORD = { bytes: Buffer.byteLength(RECORDING), sha256: createHash("sha256").update(RECORDING).digest("hex") };

describe("a recording", () => {
  it("that the audit names is compared with it, and how to play it is said", async () => {
    const head = auditOf({ bytes: 1, sha256: "0".repeat(64) }, WORD, undefined);
    const to = join(folder, "session.cast");
    const said = await fetched(`${url}/here`, { to, head });
    expect(said).toMatchObject({ code: 0, out: "" });
    expect(said.error).toBe(
      `recording of dbg_x: ${to}\n${WORD.bytes} bytes, as the audit says\nplay it with: asciinema play ${to}\n`,
    );
  });

  it.each([
    ["length", { ...WORD, bytes: 1 }],
    ["hash", { ...WORD, sha256: "0".repeat(64) }],
  ])("of another %s than the audit says is another file", async (_, word) => {
    const said = await fetched(`${url}/here`, { head: auditOf(WORD, word) });
    expect(said).toMatchObject({ code: 11, error: expect.stringContaining("not the recording of the session") });
    expect(said.error).not.toContain("play");
  });

  it.each([
    ["there is no audit", () => null, "there is no audit of dbg_x"],
    ["the audit is another than the platform knows of", () => auditOf(WORD).replace(/./, "x"), "the audit is damaged"],
    ["the audit does not name it", () => auditOf(undefined), "the audit says nothing of it"],
    ["the audit's word is none", () => auditOf("\u009b31m", { bytes: 1 }), "the audit says nothing of it"],
  ])("is there when %s, and that it was compared with nothing is said", async (_, headOf, words) => {
    const said = await fetched(`${url}/here`, { head: headOf() });
    expect(said).toMatchObject({ code: 0, out: RECORDING });
    expect(said.error).toContain(`it was compared with nothing: ${words}`);
  });
});

describe("a session's file", () => {
  it("goes to a pipe as it is, and to a terminal without what controls it", async () => {
    expect((await fetched(`${url}/here`)).out).toBe(RECORDING);
    expect((await fetched(`${url}/here`, { isTTY: true })).out).toBe('one\\u001b[2J\\u0007\\u009b31m "é"\n');
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
    ["it is another engineer's", () => "", "is for the engineer who asked for the session"],
    ["it is not there yet", () => `${url}/none`, "comes at the session's end"],
    ["the address leads elsewhere", () => `${url}/away`, "could not be fetched"],
    ["the address is unencrypted", () => "http://store.example.com/x", "not https"],
    ["the address is a file", () => "file:///etc/passwd", "not https"],
  ])("says so when %s", async (_, readUrl, words) => {
    await expect(fetched(readUrl())).rejects.toThrow(words);
  });
});
