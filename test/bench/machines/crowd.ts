import { startCluster } from "../../../lab/cluster/cluster.ts";
import { MACHINES_ACCOUNT } from "../../../src/crds/group.ts";
import { DrainWorld } from "../../integration/machines/drain-world.ts";
import { ours } from "../../world/objects.ts";
import type { Row } from "../table.ts";
import { inPod, measured } from "./in-pod.ts";

const GOAL_MIB = 150;
const GOAL_CORE = 0.3;
const LIMIT_MS = 1_800_000;

/** Many nodes drained at once by one controller. */
export async function crowd(
  nodes: number,
  podsEach: number,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ controllers: true, kwok: { nodes }, log: say }, signal));
  const world = await DrainWorld.create(cluster);
  stack.defer(() => world.close());
  // Else one after the other is drained, and the last one with the pods of all.
  const pool = { deploymentId: "dep_1", namePrefix: "node-", drain: { maxParallel: nodes } };
  await cluster.apply([ours("MachinePool", "nodes", pool)]);
  const names = Array.from({ length: nodes }, (_, index) => `node-${index + 1}`);
  // All nodes are drained: pods that are made again would find no other one.
  for (const name of names) await world.workload(`web-${name}`, name, podsEach, { affinity: onlyOn(name) });
  const controller = await inPod(stack, cluster, "machine-controller", MACHINES_ACCOUNT, {}, signal);
  say(`machines: ${nodes} drains of ${podsEach} pods each, at once`);
  const [usage, startMs] = [measured(controller), performance.now()];
  const drains = await Promise.all(names.map((nodeName) => world.drain({ nodeName })));
  await Promise.all(drains.map((drain) => world.until(drain, ({ status }) => status?.state === "Drained", LIMIT_MS)));
  const [{ text, mib, core }, seconds] = [usage(), (performance.now() - startMs) / 1_000];
  return {
    what: `${nodes} drains of ${podsEach} pods at once`,
    measured: `${seconds.toFixed(1)} s, ${text}`,
    goal: `at most ${GOAL_MIB} MiB and ${GOAL_CORE} core`,
    reached: mib <= GOAL_MIB && core <= GOAL_CORE,
    figures: { mib, core, seconds },
  };
}

function onlyOn(node: string): object {
  const terms = [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] }];
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } };
}
