import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, expect, it } from "vitest";
import type { DebugSession } from "../../../contract/debug-sessions.ts";
import { type Answer, onEachDatabase, type World } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

const folder = mkdtempSync(join(tmpdir(), "sallyport-session-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MINUTE_MS = 60_000;
const NAMES = ["audit", "recording"];

type Urls = DebugSession["presignedUrls"][string];

async function open(world: World, site: Site): Promise<DebugSession> {
  const expiresAt = new Date(world.clock.wallNow().getTime() + 60 * MINUTE_MS).toISOString();
  const body = { deploymentId: await site.deploy("shop"), expiresAt };
  const made = await world.call("POST", "/v1/debug-sessions", { key: site.manager.key, body });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body;
}

function urlsOf(session: DebugSession, name: string): Urls {
  return session.presignedUrls[name] ?? { readUrl: "", writeUrl: "" };
}

const lines: string[] = [];

onEachDatabase(
  "files of debug sessions",
  (world) => {
    const read = async (id: string, key: string): Promise<DebugSession> =>
      (await world.call("GET", `/v1/debug-sessions/${id}`, { key })).body;
    const put = async (url: string, text: string, type = "application/octet-stream"): Promise<number> =>
      (await fetch(url, { method: "PUT", headers: { "content-type": type }, body: text })).status;

    it("the manager writes what others only read, each session and name for itself", async () => {
      const site = await newSite(world);
      const session = await open(world, site);
      expect(Object.keys(session.presignedUrls).sort()).toEqual(NAMES);
      for (const name of NAMES) {
        const { writeUrl } = urlsOf(session, name);
        expect(await put(writeUrl, "text", "text/html")).toBe(415);
        expect(await put(writeUrl, `${name} of ${session.id}`)).toBe(200);
      }
      const shown = await read(session.id, site.member);
      for (const name of NAMES) {
        const { readUrl, writeUrl } = urlsOf(shown, name);
        expect(writeUrl).toBe("");
        expect(await put(readUrl, "mine")).toBe(403);
        expect(await (await fetch(readUrl)).text()).toBe(`${name} of ${session.id}`);
      }
    });

    it("every way to read a session shows them by the same rule", async () => {
      const site = await newSite(world);
      const { id, deploymentId } = await open(world, site);
      const writers = async (key: string): Promise<boolean[]> => {
        const listed = await world.call("GET", "/v1/debug-sessions", { key, query: { deploymentId } });
        const stopped = await world.call("PATCH", `/v1/debug-sessions/${id}`, { key, body: { state: "stopping" } });
        const seen: DebugSession[] = [...listed.body.items, stopped.body, await read(id, key)];
        return seen.flatMap((each) => NAMES.map((name) => urlsOf(each, name).writeUrl !== ""));
      };
      expect(new Set(await writers(site.manager.key))).toEqual(new Set([true]));
      const scope = { type: "deployment", deploymentId, projectId: site.project.id } as const;
      for (const key of [site.admin, site.member, await site.workspace.key("deployment.manager", scope)]) {
        const { presignedUrls } = await read(id, key);
        expect(Object.values(presignedUrls).map(({ writeUrl }) => writeUrl)).toEqual(["", ""]);
      }
      expect(new Set(await writers(site.member))).toEqual(new Set([false]));
      const body = { mode: "read", reason: "to look at the logs", minutes: 5 };
      const asked: Answer = await site.call("POST", `/v1/deployments/${deploymentId}/debug-requests`, { body });
      expect(asked.status, JSON.stringify(asked.body)).toBe(201);
      expect(urlsOf(asked.body.session, "audit")).toEqual({ readUrl: expect.stringMatching(/^http/), writeUrl: "" });
    });

    it("an address to read ends after 15 minutes and is made anew, one to write an hour after the session", async () => {
      const site = await newSite(world);
      const session = await open(world, site);
      const { readUrl, writeUrl } = urlsOf(session, "recording");
      expect(await put(writeUrl, "first")).toBe(200);
      world.clock.advance(14 * MINUTE_MS);
      expect((await fetch(readUrl)).status).toBe(200);
      world.clock.advance(MINUTE_MS);
      expect((await fetch(readUrl)).status).toBe(403);
      const later = urlsOf(await read(session.id, site.manager.key), "recording");
      expect(await (await fetch(later.readUrl)).text()).toBe("first");
      expect(later.writeUrl).toBe(writeUrl);
      world.clock.advance(104 * MINUTE_MS);
      expect(await put(writeUrl, "last")).toBe(200);
      world.clock.advance(MINUTE_MS);
      expect(await put(writeUrl, "late")).toBe(403);
      // Made for the asking, but it ended with the session.
      expect(await put(urlsOf(await read(session.id, site.manager.key), "recording").writeUrl, "late")).toBe(403);
      const { readUrl: again } = urlsOf(await read(session.id, site.member), "recording");
      expect(await (await fetch(again)).text()).toBe("last");
    });

    it("no log line and no event holds an address or its signature", async () => {
      const site = await newSite(world);
      const session = await open(world, site);
      const { readUrl, writeUrl } = urlsOf(session, "audit");
      expect(await put(writeUrl, "kept")).toBe(200);
      expect((await fetch(readUrl)).status).toBe(200);
      const key = site.manager.key;
      for (const state of ["running", "stopping", "stopped"]) {
        await world.call("PATCH", `/v1/debug-sessions/${session.id}`, { key, body: { state } });
      }
      const { deploymentId } = session;
      const events = await site.call("GET", "/v1/events", { query: { deploymentId } });
      expect(events.body.items.length).toBeGreaterThan(0);
      const told = [...lines, JSON.stringify(events.body)].join("\n");
      expect(told).toContain("/objects/*");
      expect(told).not.toContain(new URL(writeUrl).pathname);
      for (const url of [readUrl, writeUrl]) expect(told).not.toContain(new URL(url).searchParams.get("signature"));
    });
  },
  { objects: { folder }, log: pino({ level: "debug" }, { write: (line) => lines.push(line) }) },
);

onEachDatabase(
  "files of debug sessions whose bucket cannot be signed for",
  (world) => {
    it("do not keep anybody from stopping one", async () => {
      const site = await newSite(world);
      const { id, presignedUrls } = await open(world, site);
      expect(presignedUrls).toEqual({});
      const body = { state: "stopping" };
      const stopped = await world.call("PATCH", `/v1/debug-sessions/${id}`, { key: site.member, body });
      expect([stopped.status, stopped.body.state]).toEqual([200, "stopping"]);
    });
  },
  {
    objects: {
      s3: {
        bucket: "files",
        prefix: "",
        region: "us-east-1",
        endpoint: "http://127.0.0.1:9",
        credentials: { file: join(folder, "no-such-file") },
      },
    },
  },
);
