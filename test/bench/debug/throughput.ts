import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { type Row, spread } from "../table.ts";
import type { DebugOptions } from "./options.ts";
import { DIRECT, OURS, type Way } from "./ways.ts";
import { type DebugCluster, POD } from "./world.ts";

const GOAL = 0.6;
const MIB = 1_048_576;

interface Transfer {
  readonly what: string;
  /** @returns how long it took, in ms */
  run(way: Way, signal: AbortSignal): Promise<number>;
}

/** @param forwarding our way for a port-forward: a session of that mode. */
export async function throughput(
  ways: readonly Way[],
  forwarding: Way,
  { cluster, pod }: DebugCluster,
  { runs, mebibytes, say }: DebugOptions,
  signal: AbortSignal,
): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const bytes = randomBytes(mebibytes * MIB);
  const file = join(cluster.dir, "block");
  await writeFile(file, bytes);
  await writeFile(join(pod.folder, "block"), bytes);
  const port = await source(stack, bytes);
  const rows: Row[] = [];
  for (const transfer of transfers(file, pod.folder, bytes.length, port)) {
    say(`debug: ${transfer.what}, ${mebibytes} MiB, ${runs} runs of ${ways.length} ways in turn`);
    const rates = new Map(ways.map(({ name }) => [name, [] as number[]]));
    for (let round = 0; round < runs; round += 1) {
      for (const way of ways) {
        const isForward = transfer.what === "port-forward" && way.name === OURS;
        const ms = await transfer.run(isForward ? forwarding : way, signal);
        rates.get(way.name)?.push(mebibytes / (ms / 1_000));
      }
    }
    rows.push(rowOf(transfer.what, ways, rates));
  }
  return rows;
}

function rowOf(what: string, ways: readonly Way[], rates: ReadonlyMap<string, readonly number[]>): Row {
  const median = (name: string): number => spread(rates.get(name) ?? []).median;
  const [ours, direct] = [median(OURS), median(DIRECT)];
  const peers = ways.filter(({ isPeer }) => isPeer).map(({ name }) => [name, median(name)] as const);
  // kubectl's own proxy stands beside the API server: no tunnel, and no peer of one.
  const best = Math.max(...peers.filter(([name]) => name !== "kubectl proxy").map(([, rate]) => rate), 0);
  const share = ours / direct;
  const others = peers.map(([name, rate]) => `${name} ${rate.toFixed(1)}`).join(", ");
  return {
    what: `${what}, against direct`,
    measured: `${share.toFixed(2)} (${ours.toFixed(1)} MiB/s; direct ${direct.toFixed(1)}, ${others})`,
    goal: `at least ${GOAL}, and the best tunnel's`,
    reached: share >= GOAL && ours >= best,
    figures: Object.fromEntries(rates),
  };
}

function transfers(file: string, folder: string, length: number, port: number): readonly Transfer[] {
  const exec = ["exec", POD, "--"];
  return [
    { what: "exec, out of the pod", run: ({ kubectl }) => kubectl([...exec, "cat", "block"], { drop: true }).done() },
    {
      what: "exec, into the pod",
      run: ({ kubectl }) => kubectl(["exec", "-i", POD, "--", "sh", "-c", "cat > /dev/null"], { stdin: file }).done(),
    },
    {
      what: "cp into the pod",
      async run({ kubectl }) {
        const ms = await kubectl(["cp", file, `${POD}:copied`]).done();
        const { size } = await stat(join(folder, "copied"));
        if (size !== length) throw new Error(`cp brought ${size} of ${length} bytes`);
        await rm(join(folder, "copied"));
        return ms;
      },
    },
    { what: "port-forward", run: (way, signal) => forwarded(way, port, length, signal) },
  ];
}

/** From the first byte asked for to the last one there; the command itself runs already. */
async function forwarded({ kubectl }: Way, port: number, length: number, signal: AbortSignal): Promise<number> {
  const typed = kubectl(["port-forward", `pod/${POD}`, `:${port}`, "--address=127.0.0.1"]);
  try {
    const { found } = await typed.says(/Forwarding from 127\.0\.0\.1:(\d+)/, signal);
    const startedMs = performance.now();
    const socket = connect(Number(found[1]), "127.0.0.1");
    let got = 0;
    // Not until the end: the kubelet that stands in here keeps a forwarded connection open.
    const over = once(socket, "close", { signal });
    const whole = new Promise<void>((resolve) => {
      socket.on("data", (chunk: Buffer) => {
        got += chunk.length;
        if (got >= length) resolve();
      });
    });
    await Promise.race([whole, over]);
    socket.destroy();
    if (got !== length) throw new Error(`the port-forward brought ${got} of ${length} bytes:\n${typed.error}`);
    return performance.now() - startedMs;
  } finally {
    typed.child.kill("SIGINT");
    await typed.ended;
  }
}

/** A port of the pod, which is this machine, that gives the bytes to each who connects. */
async function source(stack: AsyncDisposableStack, bytes: Buffer): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end(bytes);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(async () => void server.close());
  return (server.address() as AddressInfo).port;
}
