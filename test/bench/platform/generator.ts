import { randomBytes } from "node:crypto";
import { serveCommands } from "./child.ts";
import { HttpConnection, requestText } from "./http-connection.ts";

/** A request with blanks: `{id}` is one of `ids` in turn, `{name}` a name that was never used before. */
export interface Load {
  readonly port: number;
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly ids: readonly string[];
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly requests: number;
  /** Sorted. */
  readonly latenciesMs: readonly number[];
  readonly failed: Readonly<Record<string, number>>;
}

const unique = randomBytes(4).toString("hex");
let sent = 0;

async function run(load: Load): Promise<LoadResult> {
  const latenciesMs: number[] = [];
  const failed: Record<string, number> = {};
  const connections = await Promise.all(Array.from({ length: load.connections }, () => HttpConnection.open(load.port)));
  const startedMs = performance.now();
  const endsMs = startedMs + load.seconds * 1000;
  const drive = async (connection: HttpConnection): Promise<void> => {
    while (performance.now() < endsMs) {
      const text = requestText(filled(load));
      const sentMs = performance.now();
      const { status, body } = await connection.request(text);
      if (status < 300) latenciesMs.push(performance.now() - sentMs);
      else failed[`${status} ${body.slice(0, 200)}`] = (failed[`${status} ${body.slice(0, 200)}`] ?? 0) + 1;
    }
    connection.close();
  };
  await Promise.all(connections.map(drive));
  const tookSeconds = (performance.now() - startedMs) / 1000;
  latenciesMs.sort((a, b) => a - b);
  return { perSecond: latenciesMs.length / tookSeconds, requests: latenciesMs.length, latenciesMs, failed };
}

function filled({ method, path, body, key, ids }: Load) {
  sent += 1;
  const id = ids[sent % ids.length] ?? "";
  const name = `n${unique}-${sent}`;
  return {
    method,
    key,
    path: path.replace("{id}", id),
    ...(body !== undefined && { body: body.replace("{name}", name) }),
  };
}

const commands = { run };
export type GeneratorCommands = typeof commands;
serveCommands(commands);
