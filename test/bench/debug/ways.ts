import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parse, stringify } from "yaml";
import { ProgramsError, sourceRecipe } from "../../../lab/cluster/go-build.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import { ensureRecipe } from "../../../lab/cluster/programs.ts";
import { newSessionKey } from "../../../src/debug-link/session-key.ts";
import { SHOP } from "../../world/people.ts";
import { running } from "../running.ts";
import { type Piped, Typed } from "./typed.ts";
import { type DebugCluster, DIRECT_ACCOUNT } from "./world.ts";

type Say = (line: string) => void;

export const OURS = "sallyport";
export const DIRECT = "direct";

/** A way from kubectl to the API server. */
export interface Way {
  readonly name: string;
  /** A peer's figure is compared with ours. */
  readonly isPeer: boolean;
  kubectl(args: readonly string[], piped?: Piped): Typed;
}

/** @param kubeconfig each with a cache of its own, as kubectl has for each server. */
export function wayOf({ cluster }: DebugCluster, name: string, kubeconfig: string, isPeer = false): Way {
  const common = ["--kubeconfig", kubeconfig, "--cache-dir", join(cluster.dir, `kubectl-${name.replace(" ", "-")}`)];
  return {
    name,
    isPeer,
    kubectl: (args, piped) => new Typed([cluster.kubectlPath, ...common, "-n", SHOP, ...args], piped),
  };
}

/** kubectl directly, through its own proxy, and through the peers that can be built here; `say` is told which cannot. */
export async function otherWays(
  stack: AsyncDisposableStack,
  found: DebugCluster,
  say: Say,
  signal: AbortSignal,
): Promise<readonly Way[]> {
  const { cluster } = found;
  const direct = await cluster.kubeconfigForServiceAccount(SHOP, DIRECT_ACCOUNT, 7_200);
  const ways = [wayOf(found, DIRECT, direct)];
  const through = async (name: string, change: Readonly<Record<string, string>>): Promise<void> => {
    const file = join(cluster.dir, `${name.replace(" ", "-")}.kubeconfig`);
    const config = parse(await readFile(direct, "utf8"));
    Object.assign(config.clusters[0].cluster, change);
    if (change.server?.startsWith("http:")) delete config.clusters[0].cluster["certificate-authority-data"];
    await writeFile(file, stringify(config), { mode: 0o600 });
    ways.push(wayOf(found, name, file, true));
  };
  await through("kubectl proxy", { server: await kubectlProxy(stack, found, direct, signal) });
  for (const [name, start] of [
    ["remotedialer", remotedialer],
    ["konnectivity", konnectivity],
  ] as const) {
    const program = await built(name, say, signal);
    if (program !== undefined) await through(name, await start(stack, found, program, signal));
  }
  return ways;
}

async function kubectlProxy(
  stack: AsyncDisposableStack,
  { cluster }: DebugCluster,
  kubeconfig: string,
  signal: AbortSignal,
): Promise<string> {
  const port = await freePort();
  // Without its filter, which refuses exec.
  const args = ["proxy", `--kubeconfig=${kubeconfig}`, `--port=${port}`, "--disable-filter=true"];
  running(stack, { name: "kubectl-proxy", path: cluster.kubectlPath, args, logFile: join(cluster.dir, "proxy.log") });
  await listening(port, signal);
  return `http://127.0.0.1:${port}`;
}

/** From its module, once. Undefined: it cannot be had here. */
async function built(name: string, say: Say, signal: AbortSignal): Promise<string | undefined> {
  const recipe = await sourceRecipe({
    ...{ name, source: join(import.meta.dirname, "peer", name), files: ["go.mod", "go.sum", "main.go"] },
    ...{ linkerFlags: "-s -w", title: name, expectation: "about a minute on 2 cores, once" },
  });
  try {
    return join(await ensureRecipe(recipe, { say }, signal), name);
  } catch (error) {
    if (!(error instanceof ProgramsError)) throw error;
    say(`${name} cannot be built here and is left out: ${error.message}`);
    return undefined;
  }
}

/** One WebSocket with TLS from the cluster's side to the engineer's; in it the bytes of kubectl's own TLS. */
async function remotedialer(
  stack: AsyncDisposableStack,
  found: DebugCluster,
  path: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const { cluster } = found;
  const [listen, connection] = [await freePort(), await freePort()];
  const { cert, key } = await certificateOf(found, "remotedialer");
  const common = [`--connect=127.0.0.1:${connection}`, `--cert=${cert}`, `--target=${new URL(cluster.server).host}`];
  const start = (name: string, args: readonly string[]) =>
    running(stack, { name, path, args: [...common, ...args], logFile: join(cluster.dir, `${name}.log`) });
  start("remotedialer-server", [`--listen=127.0.0.1:${listen}`, `--key=${key}`]);
  await listening(connection, signal);
  start("remotedialer-client", []);
  return { server: `https://127.0.0.1:${listen}` };
}

/** gRPC with TLS from the agent to the server, which takes CONNECT on loopback; in it the bytes of kubectl's own TLS. */
async function konnectivity(
  stack: AsyncDisposableStack,
  found: DebugCluster,
  path: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const { cluster } = found;
  const [listen, agents, health, admin] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const { cert, key } = await certificateOf(found, "konnectivity");
  const start = (name: string, args: readonly string[]) =>
    running(stack, { name, path, args, logFile: join(cluster.dir, `${name}.log`) });
  const serving = [`--listen=127.0.0.1:${listen}`, `--agents=127.0.0.1:${agents}`, `--cert=${cert}`, `--key=${key}`];
  start("konnectivity-server", ["server", ...serving]);
  await listening(agents, signal);
  start("konnectivity-agent", [
    ...["agent", "--proxy-server-host=127.0.0.1", `--proxy-server-port=${agents}`, `--ca-cert=${cert}`],
    ...[`--health-server-port=${health}`, `--admin-server-port=${admin}`],
  ]);
  return { "proxy-url": `http://127.0.0.1:${listen}` };
}

async function certificateOf({ cluster }: DebugCluster, name: string) {
  const { key, certificate } = newSessionKey(name, new Date(), ["127.0.0.1"]);
  const files = { cert: join(cluster.dir, `${name}.crt`), key: join(cluster.dir, `${name}.key`) };
  await writeFile(files.cert, certificate);
  await writeFile(files.key, key, { mode: 0o600 });
  return files;
}

async function listening(port: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
    if (isThere) return;
    await pause(20, undefined, { signal });
  }
}

/** Until kubectl has its answer once, and its cache: what comes is like every later command. */
export async function warmed(way: Way, signal: AbortSignal): Promise<void> {
  for (let left = 40; ; left -= 1) {
    signal.throwIfAborted();
    try {
      await way.kubectl(["get", "pods"]).done();
      return;
    } catch (error) {
      if (left === 0) throw new Error(`${way.name} has no answer`, { cause: error });
      await pause(250, undefined, { signal });
    }
  }
}
