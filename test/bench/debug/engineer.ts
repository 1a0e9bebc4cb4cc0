import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { DebugMode } from "../../../src/contract/debug-sessions/debug-sessions.ts";
import { APPROVER, SHOP } from "../../world/people.ts";
import { ask } from "../platform/ask.ts";
import { Typed } from "./typed.ts";
import type { DebugWorld } from "./world.ts";

const REASON = "500s since 14:02";

/** A grant that the customer has given, and the engineer's home, which has its key. */
export interface Granted {
  readonly requestId: string;
  readonly home: string;
}

/** An engineer's session, for as long as its command line runs. */
export interface OpenSession {
  readonly id: string;
  readonly kubeconfig: string;
  /** Since the command line was started: the platform has the session, both ends have met, kubectl may be typed. */
  readonly stages: { readonly asked: number; readonly attached: number; readonly printed: number };
  close(): Promise<void>;
}

function cli({ program, platformUrl, fleet }: DebugWorld, home: string, args: readonly string[]): Typed {
  const own = { HOME: home, NO_COLOR: "1", SALLYPORT_URL: platformUrl, SALLYPORT_KEY: fleet.key };
  return new Typed([...program.cli, "debug", ...args], { env: { PATH: process.env.PATH, ...own } });
}

/** Asks as the engineer, and approves with the line that the engineer sees, as the customer's approver. */
export async function granted(world: DebugWorld, mode: DebugMode, signal: AbortSignal): Promise<Granted> {
  const { cluster, fleet } = world;
  const home = await mkdtemp(join(cluster.dir, "engineer-"));
  const asking = ["open", fleet.deploymentId, "-n", SHOP, "--mode", mode, "--minutes", "60", "--reason", REASON];
  const typed = cli(world, home, asking);
  const { found } = await typed.says(/(kubectl patch \S+ ar-\S+ .*) -p '(\{.*\})'/, signal);
  await typed.done();
  const requestId = /--request (ar_\w+)/.exec(typed.out)?.[1] ?? "";
  const [, words = "", patch = ""] = found;
  const kubeconfig = cluster.kubeconfigFor({ user: APPROVER });
  const approved = await cluster.kubectl([...words.split(" ").slice(1), "-p", patch], { kubeconfig });
  if (approved.code !== 0) throw new Error(approved.stderr);
  const call = ask(fleet.port, fleet.key);
  while ((await call("GET", `/v1/access-requests/${requestId}`)).body.status !== "customer-approved") {
    await pause(50, undefined, { signal });
  }
  return { requestId, home };
}

/** `sallyport debug open` with a grant in hand. */
export async function opened(
  world: DebugWorld,
  { requestId, home }: Granted,
  signal: AbortSignal,
): Promise<OpenSession> {
  const typed = cli(world, home, ["open", "--request", requestId, "--print-kubeconfig"]);
  const { atMs: asked, found } = await typed.says(/(dbg_\w+): waits/, signal);
  const { atMs: attached } = await typed.says(/dbg_\w+: attached/, signal);
  const { atMs: printed, found: path } = await typed.says(/^(\S+kubeconfig\S*)$/m, signal);
  const [, id = ""] = found;
  const [, kubeconfig = ""] = path;
  return {
    ...{ id, kubeconfig, stages: { asked, attached, printed } },
    async close() {
      typed.child.kill("SIGINT");
      await typed.ended;
    },
  };
}
