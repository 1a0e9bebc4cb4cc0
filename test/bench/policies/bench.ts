import { type Cluster, startCluster } from "../../../lab/cluster/cluster.ts";
import type { Manifest } from "../../../src/crds/manifest.ts";
import { installation } from "../../../src/crds/manifests/installation.ts";
import { usageOf } from "../agent/usage.ts";
import { type Row, spread } from "../table.ts";
import { shortPolicies } from "./short-policies.ts";

interface PoliciesOptions {
  readonly runs: number;
  readonly say: (line: string) => void;
}

const GOAL_S = 7;
const GOAL_RATIO = 3;
const DEAREST = 3;

interface Run {
  readonly crds: number;
  readonly rbac: number;
  readonly policies: number;
  readonly short: number;
  /** By the policy's name. */
  readonly alone: ReadonlyMap<string, number>;
}

/** What an installation costs the API server until it is in force, in seconds of CPU. */
export async function benchPolicies({ runs, say }: PoliciesOptions, signal: AbortSignal): Promise<readonly Row[]> {
  // The lab's programs collect garbage less often than a customer's API server.
  process.env.GOGC ??= "100";
  const all: Run[] = [];
  for (let round = 1; round <= runs; round += 1) {
    const run = await measured(signal);
    all.push(run);
    const { crds, rbac, policies, short } = run;
    say(`${round} of ${runs}: CRDs ${crds} s, roles ${rbac} s, policies ${policies} s, short ones ${short} s`);
  }
  const median = (of: (run: Run) => number): number => spread(all.map(of)).median;
  const whole = median(({ crds, rbac, policies }) => crds + rbac + policies);
  const [policies, short] = [median((run) => run.policies), median((run) => run.short)];
  const names = [...(all[0]?.alone.keys() ?? [])];
  const alone = names
    .map((name) => ({ name, seconds: median((run) => run.alone.get(name) ?? Number.NaN) }))
    .sort((a, b) => b.seconds - a.seconds);
  return [
    {
      what: "API server's CPU for an installation until it is in force",
      measured: `${whole.toFixed(2)} s: CRDs ${median(({ crds }) => crds).toFixed(2)}, roles ${median(({ rbac }) => rbac).toFixed(2)}, policies ${policies.toFixed(2)}`,
      goal: `at most ${GOAL_S} s`,
      reached: whole <= GOAL_S,
      figures: { all: all.map((run) => ({ ...run, alone: Object.fromEntries(run.alone) })) },
    },
    {
      what: `its ${names.length} policies beside as many short ones`,
      measured: `${(policies / short).toFixed(2)} × (${short.toFixed(2)} s)`,
      goal: `at most ${GOAL_RATIO} ×`,
      reached: policies / short <= GOAL_RATIO,
      figures: { policies, short },
    },
    {
      what: `the ${DEAREST} dearest of them, each applied alone`,
      measured: alone
        .slice(0, DEAREST)
        .map(({ name, seconds }) => `${name} ${seconds.toFixed(2)} s`)
        .join(", "),
      goal: "",
      figures: { alone },
    },
  ];
}

/** One server for the installation, one for the policies one by one, one for the short ones: what is loaded once costs less again. */
async function measured(signal: AbortSignal): Promise<Run> {
  const { crds, rbac, policies } = installation();
  const names = [...new Set(policies.map(({ metadata }) => metadata.name))];
  const [whole, short] = [[crds, rbac, policies] as const, [crds, rbac, shortPolicies(names.length)] as const];
  const each = names.map((name) => policies.filter(({ metadata }) => metadata.name === name));
  const [ofCrds = 0, ofRbac = 0, ofPolicies = 0] = await costs(whole, signal);
  const ofShort = (await costs(short, signal)).at(-1) ?? Number.NaN;
  const alone = (await costs([crds, rbac, ...each], signal)).slice(2);
  return {
    crds: ofCrds,
    rbac: ofRbac,
    policies: ofPolicies,
    short: ofShort,
    alone: new Map(names.map((name, at) => [name, alone[at] ?? Number.NaN])),
  };
}

/** Applies the parts to a new API server, one after the other. */
async function costs(parts: readonly (readonly Manifest[])[], signal: AbortSignal): Promise<readonly number[]> {
  await using cluster: Cluster = await startCluster({}, signal);
  const seconds: number[] = [];
  const used = (): number => usageOf(cluster.programs.apiserver.pid).cpuMs / 1000;
  for (const part of parts) {
    const before = used();
    await cluster.apply(
      part.map((each) => ({ ...each })),
      signal,
    );
    seconds.push(Number((used() - before).toFixed(2)));
  }
  return seconds;
}
