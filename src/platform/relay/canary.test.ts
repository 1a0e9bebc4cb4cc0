import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Logger } from "../../base/log.ts";
import type { DatabaseLocation } from "../database/open.ts";
import { startPlatform } from "../server.ts";
import { dumped } from "../testing/dump.ts";
import { inMemory } from "../testing/empty-database.ts";
import { findPostgres } from "../testing/postgres.ts";
import { TestClock } from "../testing/test-clock.ts";
import { callsOf, read, until } from "./testing/peer.ts";
import { worldOf } from "./testing/replicas.ts";

const CANARY = "canary-Zq83vXw1";

/** As text, and as what a column or a log line would make of bytes. */
const FORMS = (["utf8", "base64", "base64url", "hex"] as const).map((form) =>
  // The last bytes of base64 depend on what follows.
  Buffer.from(CANARY).toString(form).slice(0, 18),
);

function foundIn(text: string, forms: readonly string[] = FORMS): readonly string[] {
  return forms.filter((form) => text.includes(form));
}

function recorder(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const say = (fields: object, message: string): void => {
    const seen = JSON.stringify(fields, (_, value: unknown) =>
      value instanceof Error ? { stack: value.stack, cause: value.cause, ...value } : value,
    );
    lines.push(`${message} ${seen}`);
  };
  const log: Logger = { debug: say, info: say, warn: say, error: say, child: () => log };
  return { log, lines };
}

const postgres = findPostgres();

describe.each(["PGlite", ...(postgres === undefined ? [] : ["PostgreSQL"])])("a platform on %s that relays", (kind) => {
  it("has no byte of what was said in its log or its database", { timeout: 120_000 }, async () => {
    await using stack = new AsyncDisposableStack();
    const server = kind === "PGlite" ? undefined : await postgres?.();
    if (server !== undefined) stack.defer(() => server.stop());
    const database: DatabaseLocation = server === undefined ? await inMemory() : { postgres: server.url };
    const { log, lines } = recorder();
    const clock = new TestClock();
    const sealingKey = new Uint8Array(32);
    const platform = await startPlatform({ database, sealingKey, clock, log, rateLimits: false });
    stack.defer(() => platform.close());
    const world = worldOf(platform, clock);
    const { start, attach, join, ticketFor } = callsOf(world);
    const { site, id, client, tunnel, engineer } = await start();

    client.send(`${CANARY} in`);
    tunnel.send(`${CANARY} out`);
    expect([await tunnel.received(18), await client.received(19)]).toEqual([`${CANARY} in`, `${CANARY} out`]);
    // What breaks the rules is refused, and its words are not told to anyone.
    client.socket.send(JSON.stringify({ type: "close", reason: CANARY }));
    expect(await client.closed).toBe(1008);
    const long = await attach(id, engineer);
    await long.paired(1);
    long.send(Buffer.alloc(300_000, CANARY));
    expect(await long.closed).toBe(1009);
    const moved = await join(id, site.manager.key);
    moved.socket.close(4000, CANARY);
    await moved.closed;
    const { url } = (await ticketFor(id, site.admin)).body;
    const bad = new WebSocket(`${url}?x=${CANARY}`, ["sp-debug.v2", `ticket.${CANARY}`]);
    bad.on("error", () => undefined);
    const [, response] = await once(bad, "unexpected-response");
    expect(response.statusCode).toBe(401);
    const good = await attach(id, site.admin);
    const last = await join(id, site.manager.key);
    await good.paired(1);
    good.send(CANARY);
    await last.received(CANARY.length);
    last.say({ type: "close", reason: "agent" });
    await good.closed;
    await until(world, site, id, "stopped");

    expect(foundIn(JSON.stringify(await read(world, site, id)))).toEqual([]);
    const rows = await dumped(platform.db);
    expect(foundIn(rows)).toEqual([]);
    expect(foundIn(lines.join("\n"))).toEqual([]);
    // The search finds what is there.
    expect(foundIn(rows, [id])).toEqual([id]);
    expect(foundIn(lines.join("\n"), [id])).toEqual([id]);
    await site.call("POST", "/v1/projects", { body: { name: CANARY.toLowerCase() } });
    expect(foundIn(await dumped(platform.db), [CANARY.toLowerCase()])).toHaveLength(1);
  });
});
