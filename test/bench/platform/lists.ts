import { type Row, spread } from "../table.ts";
import { ask } from "./ask.ts";
import { Child } from "./child.ts";
import { HttpConnection, requestText } from "./http-connection.ts";
import { manyRows, TABLES } from "./list-rows.ts";
import type { PlatformCommands } from "./platform-server.ts";
import { connected } from "./rows.ts";

/** The most that the p99 with many rows may be, as a multiple of the p99 with few. */
const GOAL = 3;
/** Below this a slow query and a busy machine look the same. */
const NOISE_MS = 5;

export interface ListsOptions {
  readonly postgres: string;
  readonly few: number;
  readonly many: number;
  /** Requests of each kind to each side. */
  readonly requests: number;
  readonly say: (line: string) => void;
}

interface Side {
  readonly connection: HttpConnection;
  readonly key: string;
  readonly latencies: Map<string, number[]>;
}

/** Every paginated list with few rows and with many, in turn: its first page, a page deep in it, each filter. */
export async function benchLists(options: ListsOptions, signal: AbortSignal): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const served = [];
  for (const count of [options.few, options.many]) served.push(await filled(stack, options, count));
  const sides: Side[] = [];
  for (const { port, key } of served) {
    const connection = await HttpConnection.open(port);
    stack.defer(() => connection.close());
    sides.push({ connection, key, latencies: new Map() });
  }
  const [few, many] = sides;
  if (few === undefined || many === undefined) throw new Error("two sides");
  options.say(`lists: ${options.requests} requests of each kind to each side`);
  for (const [list, { path, filters }] of Object.entries(TABLES)) {
    const kinds = { "first page": "", ...filters };
    for (const [kind, query] of Object.entries(kinds)) {
      await inTurn(
        sides,
        `${list}: ${kind}`,
        options.requests,
        signal,
        () => `${path}${path.includes("?") ? "&" : "?"}${query}`,
      );
    }
    const cursors = new Map<Side, string>();
    for (const side of sides) cursors.set(side, await deepCursor(side, path));
    if ([...cursors.values()].includes("")) continue;
    await inTurn(sides, `${list}: deep page`, options.requests, signal, (side) => {
      return `${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursors.get(side) ?? "")}`;
    });
  }
  return report(few, many, options);
}

async function inTurn(
  sides: readonly Side[],
  kind: string,
  requests: number,
  signal: AbortSignal,
  pathOf: (side: Side) => string,
): Promise<void> {
  for (let n = -3; n < requests; n += 1) {
    signal.throwIfAborted();
    for (const side of sides) {
      const text = requestText({ method: "GET", path: pathOf(side), key: side.key });
      const startedMs = performance.now();
      const { status, body } = await side.connection.request(text);
      if (status !== 200) throw new Error(`${kind}: ${status} ${body}`);
      if (n >= 0) side.latencies.set(kind, [...(side.latencies.get(kind) ?? []), performance.now() - startedMs]);
    }
  }
}

/** A cursor up to 500 rows in: deep for a person who turns pages, and the middle of a list of a thousand. */
async function deepCursor({ connection, key }: Side, path: string): Promise<string> {
  let cursor = "";
  for (let page = 0; page < 5; page += 1) {
    const query = `${path.includes("?") ? "&" : "?"}limit=100${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { body } = await connection.request(requestText({ method: "GET", path: `${path}${query}`, key }));
    const { nextCursor } = JSON.parse(body) as { nextCursor: string | null };
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  return cursor;
}

function report(few: Side, many: Side, { few: fewCount, many: manyCount }: ListsOptions): Row[] {
  const kinds = [...few.latencies.keys()].map((kind) => {
    const [small, large] = [spread(few.latencies.get(kind) ?? []), spread(many.latencies.get(kind) ?? [])];
    return { kind, small, large, ratio: large.p99 / Math.max(small.p99, NOISE_MS) };
  });
  const lists = Map.groupBy(kinds, ({ kind }) => kind.split(":", 1)[0] ?? "");
  const rows = [...lists].map(([list, each]): Row => {
    const worst = each.reduce((one, other) => (other.ratio > one.ratio ? other : one));
    const over = each.filter(({ ratio }) => ratio > GOAL);
    const named =
      over.length === 0
        ? ""
        : `; over: ${over.map(({ kind, ratio }) => `${kind.slice(list.length + 2)} ${ratio.toFixed(1)}`).join(", ")}`;
    return {
      what: `${list}: ${each.length} kinds of request, ${manyCount} rows against ${fewCount}`,
      measured:
        `worst p99 ratio ${worst.ratio.toFixed(1)} (${worst.kind.slice(list.length + 2)}: ` +
        `${worst.large.p99.toFixed(0)} ms against ${worst.small.p99.toFixed(0)} ms)${named}`,
      goal: `at most ${GOAL}`,
      reached: over.length === 0,
      figures: { kinds: each },
    };
  });
  return rows;
}

/** A platform on a database of its own with that many rows in each list. */
async function filled(stack: AsyncDisposableStack, options: ListsOptions, count: number) {
  options.say(`lists: making ${count} rows in each of ${Object.keys(TABLES).length} lists`);
  const name = `rows_${count}`;
  await connected(options.postgres, (client) => client.query(`create database ${name}`));
  const url = new URL(options.postgres);
  url.pathname = `/${name}`;
  const platform = new Child<PlatformCommands>(new URL("platform-server.ts", import.meta.url));
  stack.defer(() => platform.stop());
  const { port } = await platform.call("start", { database: { postgres: url.href }, record: false });
  const workspace = await platform.call("workspace", { name: "lists" });
  await manyRows(
    url.href,
    { call: ask(port, workspace.key), asManager: ask(port, workspace.managerKey), ...workspace },
    count,
  );
  return { port, key: workspace.key };
}
