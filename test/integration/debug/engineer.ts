import { statSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { type KubectlOptions, type KubectlResult, kubectl } from "../../../lab/cluster/kubectl.ts";
import { objectName } from "../../../src/crds/group.ts";
import { APPROVER, SHOP } from "../../world/people.ts";
import { eventually } from "../../world/wait.ts";
import type { TunnelWorld } from "./tunnel-world.ts";
import { Typed } from "./typed.ts";

const MAIN = join(import.meta.dirname, "../../../bin/sallyport.mjs");

export interface Wish {
  readonly mode: "logs" | "read" | "exec" | "port-forward";
  readonly ports?: readonly number[];
  readonly minutes?: number;
  readonly reason?: string;
  readonly more?: readonly string[];
  /** Besides what every command line of the engineer has. */
  readonly env?: Readonly<Record<string, string>>;
}

/** An engineer's `sallyport debug open`, and what is typed while it runs. */
export interface OpenSession {
  readonly id: string;
  /** Its resource in the cluster. */
  readonly name: string;
  /** The engineer's home. */
  readonly folder: string;
  readonly kubeconfig: string;
  readonly cli: Typed;
  kubectl(args: readonly string[], options?: Omit<KubectlOptions, "kubeconfig">): Promise<KubectlResult>;
  /** A kubectl that goes on. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Typed;
  /** Ctrl-C. */
  close(): Promise<number | null>;
}

/** `sallyport …` as the vendor's engineer. */
export function sallyport(
  { world }: TunnelWorld,
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Typed {
  return new Typed(process.execPath, [MAIN, ...args], {
    PATH: process.env.PATH,
    HOME: folder,
    NO_COLOR: "1",
    SALLYPORT_URL: world.platform.url,
    SALLYPORT_KEY: world.engineerKey,
    ...env,
  });
}

/**
 * Asks for a session as the engineer, approves it with the line that the engineer sees, as the customer's approver, and
 * waits until kubectl may be typed.
 */
export async function openSession(
  at: TunnelWorld,
  { mode, ports = [], minutes = 30, reason = "500s since 14:02", more = [], env = {} }: Wish,
): Promise<OpenSession> {
  const folder = await mkdtemp(join(at.cluster.dir, "engineer-"));
  const args = [
    ...["debug", "open", at.world.deploymentId, "-n", SHOP, "--mode", mode, "--minutes", String(minutes)],
    ...["--reason", reason, "--wait", "--print-kubeconfig"],
    ...ports.flatMap((port) => ["--port", String(port)]),
    ...more,
  ];
  const cli = sallyport(at, folder, args, env);
  const [, line = ""] = await cli.says(/(kubectl patch \S+ ar-\S+ .*'\{.*\}')/);
  const approved = await approve(at, line);
  if (approved.code !== 0) throw new Error(`${line}\n${approved.stderr}`);
  return served(at, folder, cli);
}

/** `sallyport debug attach`, where a session was opened. @param more further flags */
export function attachSession(
  at: TunnelWorld,
  { id, folder }: OpenSession,
  more: readonly string[] = [],
): Promise<OpenSession> {
  return served(at, folder, sallyport(at, folder, ["debug", "attach", id, "--print-kubeconfig", ...more]));
}

/** Waits until kubectl may be typed. */
async function served(at: TunnelWorld, folder: string, cli: Typed): Promise<OpenSession> {
  const [, kubeconfig = ""] = await cli.says(/^(\S+kubeconfig\S*)$/m, 120_000);
  const [, id = ""] = await cli.says(/(dbg_\w+)/);
  const kubectlCache = join(folder, "kubectl-cache");
  return {
    id,
    name: objectName(id),
    folder,
    kubeconfig,
    cli,
    kubectl: (args, options = {}) => kubectl(at.cluster.kubectlPath, kubectlCache, args, { ...options, kubeconfig }),
    start: (args, env = {}) =>
      new Typed(at.cluster.kubectlPath, ["--kubeconfig", kubeconfig, "--cache-dir", kubectlCache, ...args], {
        PATH: process.env.PATH,
        HOME: folder,
        ...env,
      }),
    async close() {
      cli.child.kill("SIGINT");
      return cli.ended;
    },
  };
}

/** A stream in both directions that only a cut ends. */
export interface Beats {
  /** The kubectl that carries it. */
  readonly typed: Typed;
  /** When a byte of the engineer's last arrived at the pod, in ms since the epoch. */
  lastAtPodMs(): number;
  /** How many of the bytes that were sent after this instant have arrived at the pod: on a slow machine fewer are sent. */
  arrivedSince(ms: number): number;
}

export const BEAT_MS = 50;

/** Sends a byte each {@link BEAT_MS} from the engineer to a file of the pod, over an exec. Returns when the first ones are there. */
export async function beating(at: TunnelWorld, session: OpenSession): Promise<Beats> {
  const file = join(at.pod.folder, session.name);
  const typed = session.start(["exec", "-i", "api-0", "--", "sh", "-c", `echo begins; exec cat > ${session.name}`]);
  const sentAtMs: number[] = [];
  const beat = setInterval(() => {
    sentAtMs.push(Date.now());
    typed.child.stdin.write(".");
  }, BEAT_MS);
  void typed.ended.finally(() => clearInterval(beat));
  await typed.says(/begins/);
  const lastAtPodMs = () => statSync(file).mtimeMs;
  const arrivedSince = (ms: number) => sentAtMs.slice(0, statSync(file).size).filter((sentMs) => sentMs > ms).length;
  await eventually(
    () => Promise.resolve(statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    (size) => size > 3,
  );
  return { typed, lastAtPodMs, arrivedSince };
}

/** Runs a pasted line of kubectl as the approver. */
async function approve(at: TunnelWorld, line: string): Promise<KubectlResult> {
  const [, patch = ""] = /-p '(.*)'$/.exec(line) ?? [];
  const words = line.slice(0, line.indexOf(" -p ")).split(" ").slice(1);
  const kubeconfig = at.cluster.kubeconfigFor({ user: APPROVER });
  return at.cluster.kubectl([...words, "-p", patch], { kubeconfig });
}
