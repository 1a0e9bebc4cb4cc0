import { mkdtempSync, rmSync } from "node:fs";
import { type ClientRequest, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, expect, it } from "vitest";
import type { DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import { type Answer, onEachDatabase, type World } from "../../testing/harness.ts";
import { keysOfRoles, newSite, type Site } from "../deployments/testing/site.ts";

const ASKED = { mode: "read", namespace: "web", clientKey: "k".repeat(43), reason: "to look at the logs" };

const folder = mkdtempSync(join(tmpdir(), "sallyport-session-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MINUTE_MS = 60_000;
const NAMES = ["audit", "recording"];
/** Lets the platform, which runs in this process, go on. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const BYTES = 5 * 4096;
const SESSIONS = 4;

type Urls = DebugSession["presignedUrls"][string];

async function open(world: World, site: Site): Promise<DebugSession> {
  const expiresAt = new Date(world.clock.wallNow().getTime() + 60 * MINUTE_MS).toISOString();
  const body = { deploymentId: await site.deploy("shop"), expiresAt };
  const made = await world.call("POST", "/v1/debug-sessions", { key: site.manager.key, body });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return (await world.call("GET", `/v1/debug-sessions/${made.body.id}`, { key: site.manager.key })).body;
}

function urlsOf(session: DebugSession, name: string): Urls {
  return session.presignedUrls[name] ?? { readUrl: "", writeUrl: "" };
}

/** An address all the same: a client takes no other text for one. */
const REFUSED = /^http:.*\/not-signed$/;
const lines: string[] = [];

onEachDatabase(
  "files of debug sessions",
  (world) => {
    const read = async (id: string, key: string): Promise<DebugSession> =>
      (await world.call("GET", `/v1/debug-sessions/${id}`, { key })).body;
    const put = async (url: string, text: string, type = "application/octet-stream"): Promise<number> =>
      (await fetch(url, { method: "PUT", headers: { "content-type": type }, body: text })).status;

    const told = async (url: string, text: string): Promise<[number, string]> => {
      const headers = { "content-type": "application/octet-stream" };
      const answer = await fetch(url, { method: "PUT", headers, body: text });
      const body = await answer.text();
      return [answer.status, body === "" ? "" : JSON.parse(body).code];
    };
    const rowsOf = async (sessionId: string): Promise<object[]> => {
      const rows = await world.platform.db
        .selectFrom("session_files")
        .select(["name", "stored", "bytes"])
        .where("session_id", "=", sessionId)
        .execute();
      return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
    };
    /** An upload that has begun and announced more than it sends. */
    const trickle = (url: string): ClientRequest => {
      const headers = { "content-type": "application/octet-stream", "content-length": "4096" };
      const sent = request(url, { method: "PUT", headers, agent: false });
      sent.on("error", () => undefined);
      sent.write("some");
      return sent;
    };
    const brokenOff = async (url: string): Promise<undefined> => {
      const { pathname } = new URL(url);
      const sessionId = pathname.split("/")[4] ?? "";
      const sent = trickle(url);
      while ((await rowsOf(sessionId)).length === 0) await turn();
      sent.destroy();
      while ((await rowsOf(sessionId)).length > 0) await turn();
    };

    it("the manager writes what others only read, each session and name for itself", async () => {
      const site = await newSite(world);
      const session = await open(world, site);
      expect(Object.keys(session.presignedUrls).sort()).toEqual(NAMES);
      for (const name of NAMES) {
        const { writeUrl } = urlsOf(session, name);
        expect(await put(writeUrl, "text", "text/html")).toBe(415);
        expect(await put(writeUrl, `${name} of ${session.id}`)).toBe(200);
      }
      const shown = await read(session.id, site.admin);
      for (const name of NAMES) {
        const { readUrl, writeUrl } = urlsOf(shown, name);
        expect(writeUrl).toMatch(REFUSED);
        expect(await put(writeUrl, "mine")).toBe(404);
        expect(await put(readUrl, "mine")).toBe(403);
        expect(await (await fetch(readUrl)).text()).toBe(`${name} of ${session.id}`);
      }
    });

    it("only the answer that is about one session has addresses, and a recording's only for who may attach", async () => {
      const site = await newSite(world);
      const { id, deploymentId } = await open(world, site);
      const body = { ...ASKED, minutes: 5 };
      const asked: Answer = await site.call("POST", `/v1/deployments/${deploymentId}/debug-requests`, { body });
      expect(asked.status, JSON.stringify(asked.body)).toBe(201);
      const owned: string = asked.body.session.id;
      /** Of audit and recording, for a session that the member asked for, and for one that has no owner. */
      const seenBy = async (key: string) => {
        const kinds = (files: DebugSession["presignedUrls"]) =>
          NAMES.flatMap((name) =>
            Object.entries(files[name] ?? {}).flatMap(([kind, url]) => (REFUSED.test(url) ? [] : [`${name} ${kind}`])),
          );
        return [kinds((await read(owned, key)).presignedUrls), kinds((await read(id, key)).presignedUrls)];
      };
      const [audit, recording] = ["audit readUrl", "recording readUrl"];
      const all = [audit, "audit writeUrl", recording, "recording writeUrl"];
      expect(await seenBy(site.manager.key)).toEqual([all, all]);
      expect(await seenBy(site.admin)).toEqual([
        [audit, recording],
        [audit, recording],
      ]);
      expect(await seenBy(site.member)).toEqual([[audit, recording], [audit]]);
      const involved = ["manager.runtime", "workspace.admin"];
      for (const [role, key] of await keysOfRoles(site, deploymentId)) {
        const { status } = await world.call("GET", `/v1/debug-sessions/${id}`, { key });
        if (status !== 200 || involved.includes(role)) continue;
        expect(await seenBy(key), role).toEqual([[audit], [audit]]);
      }
      for (const key of [site.manager.key, site.admin, site.member]) {
        const listed = await world.call("GET", "/v1/debug-sessions", { key, query: { deploymentId } });
        const stopped = await world.call("PATCH", `/v1/debug-sessions/${id}`, { key, body: { state: "stopping" } });
        const seen: DebugSession[] = [...listed.body.items, stopped.body, asked.body.session];
        expect(seen.map(({ presignedUrls }) => presignedUrls)).toEqual([{}, {}, {}, {}]);
      }
    });

    it("an address ends after 15 minutes and is made anew, one to write until a day after the session", async () => {
      const site = await newSite(world);
      const session = await open(world, site);
      const first = urlsOf(session, "audit");
      expect(await put(first.writeUrl, "first")).toBe(200);
      world.clock.advance(14 * MINUTE_MS);
      expect((await fetch(first.readUrl)).status).toBe(200);
      world.clock.advance(MINUTE_MS);
      expect((await fetch(first.readUrl)).status).toBe(403);
      expect(await put(urlsOf(session, "recording").writeUrl, "late")).toBe(403);
      const later = await read(session.id, site.manager.key);
      expect(await (await fetch(urlsOf(later, "audit").readUrl)).text()).toBe("first");
      world.clock.advance((23 * 60 + 95) * MINUTE_MS);
      const { writeUrl: last } = urlsOf(await read(session.id, site.manager.key), "recording");
      world.clock.advance(9 * MINUTE_MS);
      expect(await put(last, "last")).toBe(200);
      const { readUrl: again } = urlsOf(await read(session.id, site.admin), "recording");
      expect(await (await fetch(again)).text()).toBe("last");
    });

    it("nothing is written a day after the session's own end, with whatever address", async () => {
      const site = await newSite(world);
      const session = await open(world, site);
      const key = site.manager.key;
      for (const state of ["running", "stopping", "stopped"]) {
        await world.call("PATCH", `/v1/debug-sessions/${session.id}`, { key, body: { state } });
      }
      world.clock.advance((23 * 60 + 50) * MINUTE_MS);
      const { writeUrl } = urlsOf(await read(session.id, key), "audit");
      world.clock.advance(9 * MINUTE_MS);
      expect(await put(urlsOf(await read(session.id, key), "recording").writeUrl, "in time")).toBe(200);
      world.clock.advance(MINUTE_MS);
      expect(await put(writeUrl, "late")).toBe(403);
      expect(urlsOf(await read(session.id, key), "audit").writeUrl).toMatch(REFUSED);
    });

    it("an end that was moved nearer counts, though the address says another", async () => {
      const site = await newSite(world);
      const session = await open(world, site);
      const { writeUrl } = urlsOf(session, "audit");
      // As if the address had been made for a session of eight hours, which it is not any more.
      const ended_at = new Date(world.clock.wallNow().getTime() - 24 * 60 * MINUTE_MS);
      await world.platform.db.updateTable("debug_sessions").set({ ended_at }).where("id", "=", session.id).execute();
      expect(await put(writeUrl, "late")).toBe(403);
    });

    it("an address ends with the key that it was handed out to", async () => {
      const site = await newSite(world);
      const session = await open(world, site);
      const { writeUrl } = urlsOf(session, "audit");
      const { items } = (await world.call("GET", "/v1/api-keys", { key: site.admin })).body;
      const { id } = items.find((key: { role: string }) => key.role === "manager.runtime");
      expect((await world.call("DELETE", `/v1/api-keys/${id}`, { key: site.admin })).status).toBe(204);
      expect(await told(writeUrl, "forged")).toEqual([401, "API_KEY_REVOKED"]);
      const other = new URL(writeUrl);
      other.searchParams.delete("holder");
      expect(await put(other.href, "forged")).toBe(403);
    });

    it("each file is written once, and one that broke off is tried again", async () => {
      const site = await newSite(world);
      const session = await open(world, site);
      const { writeUrl, readUrl } = urlsOf(session, "audit");
      expect(await brokenOff(writeUrl)).toBeUndefined();
      expect(await rowsOf(session.id)).toEqual([]);
      expect(await put(writeUrl, "what happened")).toBe(200);
      expect(await told(writeUrl, "nothing happened")).toEqual([409, "FILE_EXISTS"]);
      expect(await (await fetch(readUrl)).text()).toBe("what happened");
      expect(urlsOf(await read(session.id, site.manager.key), "audit").writeUrl).toMatch(REFUSED);
      // As if the platform had been killed before it could say that the file was there.
      await world.platform.db.updateTable("session_files").set({ stored: false, bytes: 50_000 }).execute();
      expect(await told(writeUrl, "nothing happened")).toEqual([409, "FILE_EXISTS"]);
      expect(await (await fetch(readUrl)).text()).toBe("what happened");
      expect(await rowsOf(session.id)).toEqual([{ name: "audit", stored: true, bytes: 4096 }]);
    });

    it("a customer's files end with its bytes, whatever becomes of the sessions, and others keep theirs", async () => {
      const site = await newSite(world);
      const key = site.manager.key;
      const first = await open(world, site);
      const { writeUrl: late } = urlsOf(first, "recording");
      expect(await told(urlsOf(first, "audit").writeUrl, "x".repeat(BYTES + 1))).toEqual([400, "BUDGET_EXCEEDED"]);
      expect(await told(urlsOf(first, "audit").writeUrl, "x".repeat(BYTES - 4096))).toEqual([200, ""]);
      await world.call("PATCH", `/v1/debug-sessions/${first.id}`, { key, body: { state: "failed" } });
      expect(await told(late, "x".repeat(4097))).toEqual([400, "BUDGET_EXCEEDED"]);
      expect(await told(late, "few bytes")).toEqual([200, ""]);
      const { deploymentId } = first;
      const expiresAt = new Date(world.clock.wallNow().getTime() + MINUTE_MS).toISOString();
      const next = await world.call("POST", "/v1/debug-sessions", { key, body: { deploymentId, expiresAt } });
      expect(next.status).toBe(201);
      const { presignedUrls } = await read(next.body.id, key);
      for (const name of NAMES) expect(presignedUrls[name]?.writeUrl).toMatch(REFUSED);
      const other = await newSite(world);
      expect(await put(urlsOf(await open(world, other), "audit").writeUrl, "mine")).toBe(200);
      // What is forgotten counts no more.
      await world.platform.db.deleteFrom("debug_sessions").where("id", "=", first.id).execute();
      expect(urlsOf(await read(next.body.id, key), "audit").writeUrl).not.toMatch(REFUSED);
    });

    it("sessions that end at once count for an hour", async () => {
      const site = await newSite(world);
      const key = site.manager.key;
      const { deploymentId, id } = await open(world, site);
      const end = (session: string) =>
        world.call("PATCH", `/v1/debug-sessions/${session}`, { key, body: { state: "failed" } });
      await end(id);
      const begin = () => {
        const expiresAt = new Date(world.clock.wallNow().getTime() + MINUTE_MS).toISOString();
        return world.call("POST", "/v1/debug-sessions", { key, body: { deploymentId, expiresAt } });
      };
      for (let count = 1; count < SESSIONS; count += 1) expect((await end((await begin()).body.id)).status).toBe(200);
      const refused = await begin();
      expect([refused.status, refused.body.context?.budget]).toEqual([429, "deployment-new-debug-sessions"]);
      const body = { ...ASKED, minutes: 5 };
      const asked = await site.call("POST", `/v1/deployments/${deploymentId}/debug-requests`, { body });
      expect([asked.status, asked.body.context?.budget]).toEqual([429, "deployment-new-debug-sessions"]);
      const expiresAt = new Date(world.clock.wallNow().getTime() + MINUTE_MS).toISOString();
      const other = { deploymentId: await site.deploy("other"), expiresAt };
      expect((await world.call("POST", "/v1/debug-sessions", { key, body: other })).status).toBe(201);
      world.clock.advance(60 * MINUTE_MS);
      expect((await begin()).status).toBe(201);
    });

    it("uploads that trickle keep only their own customer's out", async () => {
      const [noisy, other] = [await newSite(world), await newSite(world)];
      const session = await open(world, noisy);
      const trickling = NAMES.map((name) => trickle(urlsOf(session, name).writeUrl));
      const expiresAt = new Date(world.clock.wallNow().getTime() + MINUTE_MS).toISOString();
      const body = { deploymentId: session.deploymentId, expiresAt };
      const key = noisy.manager.key;
      const next = (await world.call("POST", "/v1/debug-sessions", { key, body })).body;
      const { writeUrl } = urlsOf(await read(next.id, key), "audit");
      while ((await rowsOf(session.id)).length < NAMES.length) await turn();
      expect(await told(writeUrl, "more")).toEqual([429, "RATE_LIMITED"]);
      // Another customer of the same project.
      const name = "second";
      const group = { name, project: noisy.project.name, maxDeployments: 10 };
      const { id } = (await noisy.call("POST", "/v1/deployment-groups", { body: group })).body;
      const deploymentId = await noisy.deploy("shop", { deploymentGroupId: id });
      const { body: theirs } = await world.call("POST", "/v1/debug-sessions", {
        body: { deploymentId, expiresAt },
        key,
      });
      expect(await put(urlsOf(await read(theirs.id, key), "audit").writeUrl, "mine")).toBe(200);
      expect(await put(urlsOf(await open(world, other), "audit").writeUrl, "mine")).toBe(200);
      for (const each of trickling) each.destroy();
      while ((await rowsOf(session.id)).length > 0) await turn();
      expect(await put(writeUrl, "more")).toBe(200);
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
  {
    objects: { folder },
    budgets: {
      "group-session-file-bytes": BYTES,
      "deployment-new-debug-sessions": SESSIONS,
      "group-uploads": NAMES.length,
    },
    log: pino({ level: "debug" }, { write: (line) => lines.push(line) }),
  },
);

onEachDatabase(
  "files of debug sessions whose bucket cannot be signed for",
  (world) => {
    it("leave the session to be read and stopped", async () => {
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
