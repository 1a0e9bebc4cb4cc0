import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { PGlite } from "@electric-sql/pglite";
import { createPgConfig } from "@electric-sql/pglite/node-postgres";
import pg from "pg";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { withoutTables } from "../testing/empty-database.ts";
import { BatchingPGlite, corkedSocket } from "./batching.ts";

let pglite: BatchingPGlite;
let client: pg.Client;

beforeAll(async () => {
  pglite = new BatchingPGlite(await withoutTables());
  client = new pg.Client({ ...createPgConfig(pglite), pipeline: true } as pg.ClientConfig);
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await pglite.close();
});

it("enters PGlite once for a statement with parameters, prepared or not", async () => {
  const entered = vi.spyOn(PGlite.prototype, "execProtocolStream");
  const ask = (name?: string) => client.query({ ...(name && { name }), text: "select $1::int as n", values: [7] });
  for (const question of [ask(), ask("one"), ask("one")]) expect((await question).rows).toEqual([{ n: 7 }]);
  expect(entered).toHaveBeenCalledTimes(3);
  entered.mockRestore();
});

it("tells a statement's own error, whichever step it comes from, and goes on", async () => {
  await expect(client.query("select $1::int / 0", [1])).rejects.toMatchObject({ code: "22012" });
  await expect(client.query("select $1::int", ["x"])).rejects.toMatchObject({ code: "22P02" });
  await expect(client.query("select $1 from nothing", [1])).rejects.toMatchObject({ code: "42P01" });
  await expect(client.query("select 2 as n")).resolves.toMatchObject({ rows: [{ n: 2 }] });
});

it("sends in one piece what is written in one tick, and waits for no other", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const peer = once(server, "connection") as Promise<[Socket]>;
  const socket = corkedSocket().connect((server.address() as { port: number }).port, "127.0.0.1");
  const [[received]] = await Promise.all([peer, once(socket, "connect")]);
  // The peer cannot tell: it may read two pieces at once.
  const together = vi.spyOn(socket, "_writev");
  const alone = vi.spyOn(socket, "_write");
  const pieces: string[] = [];
  received.on("data", (piece) => pieces.push(piece.toString()));
  for (const words of [["begin;", "select;"], ["commit;"]]) {
    for (const word of words) socket.write(word);
    await expect.poll(() => pieces.join("")).toContain(words.at(-1));
  }
  expect(pieces.join("")).toBe("begin;select;commit;");
  expect([together.mock.calls.length, alone.mock.calls.length]).toEqual([1, 1]);
  socket.destroy();
  server.close();
});
