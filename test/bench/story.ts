import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "../../lab/cluster/cache-entry.ts";
import { agentShowsDeployment, customerAccepts, platformServesDeployment } from "../../lab/story/accepting.ts";
import { Narrator } from "../../lab/story/narrator.ts";
import { openRunFolder } from "../../lab/story/run-folder.ts";
import { startWorld, type World } from "../../lab/story/world.ts";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { objectName } from "../../src/crds/group.ts";
import { type AccessGrant, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import type { Informer } from "../../src/kube/cache/informer.ts";
import { Client } from "../../src/kube/client/client.ts";
import { connect } from "../../src/kube/client/connection.ts";
import { GRANTS } from "../world/people.ts";
import { type Row, spread } from "./table.ts";
import { watched } from "./watched.ts";

/** Short beside the measured times, so that polling costs little and adds little error. */
const POLL_MS = 5;

/** Measures the whole path with real processes, as a person waits for it. */
export async function benchStory(rounds: number, say: (line: string) => void, signal: AbortSignal): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  stack.defer(await openRunFolder(folder, isAlive));
  const options = { approve: true, exit: true, kubeconfig: undefined, folder };
  const narrator = new Narrator({ write: () => undefined, isTerminal: false }, systemClock);
  const broken = new AbortController();
  const either = AbortSignal.any([signal, broken.signal]);
  say("starting platform, cluster, agent and operator");
  const world = await startWorld({ options, narrator, clock: systemClock, stack, broken, rateLimits: false }, either);
  const scene = { world, narrator };
  await customerAccepts(scene, await agentShowsDeployment(scene, either), either);
  await platformServesDeployment(scene, either);
  say(`${rounds} automatic operations, one after the other`);
  const automatic = await automaticOperations(world, rounds, either);
  say(`${rounds} approvals, one after the other`);
  const approvals = await approvedOperations(world, rounds, stack, either);
  return [
    {
      what: "invoke on the platform → result on the platform (auto)",
      measured: `median ${automatic.median.toFixed(0)} ms, p99 ${automatic.p99.toFixed(0)} ms`,
      goal: "p99 1000 ms",
      reached: automatic.p99 <= 1000,
      figures: { ...automatic },
    },
    {
      what: "approval stored → operation started",
      measured: `median ${approvals.started.median.toFixed(0)} ms, p99 ${approvals.started.p99.toFixed(0)} ms`,
      goal: "median 35 ms, p99 250 ms",
      reached: approvals.started.median <= 35 && approvals.started.p99 <= 250,
      figures: approvals,
    },
  ];
}

async function automaticOperations({ vendor, target }: World, rounds: number, signal: AbortSignal) {
  const times: number[] = [];
  for (let round = -3; round < rounds; round++) {
    const startedAt = performance.now();
    const body = {
      deploymentId: vendor.deploymentId,
      plugin: "kubernetes",
      operation: "get-pods",
      params: { namespace: target.workloadNamespace },
    };
    const { commandId = "" } = await vendor.engineer.operations.invoke(
      { query: { project: vendor.project }, body },
      signal,
    );
    for (;;) {
      const { state } = await vendor.engineer.commands.get({ params: { id: commandId } }, signal);
      if (state === "SUCCEEDED") break;
      if (state === "FAILED" || state === "EXPIRED") throw new Error(`command ${commandId} ended ${state}`);
      await sleep(systemClock, POLL_MS, signal);
    }
    // The first rounds warm three processes up and are not counted.
    if (round >= 0) times.push(performance.now() - startedAt);
  }
  return spread(times);
}

/**
 * Measures, in stages, from the answer to the approver's patch until the API server shows the claim that precedes every
 * act.
 */
async function approvedOperations(
  { vendor, target, kube }: World,
  rounds: number,
  stack: AsyncDisposableStack,
  signal: AbortSignal,
) {
  const connection = await connect({ kubeconfig: target.approver.kubeconfig, environment: {} });
  stack.defer(() => connection.close());
  const approver = new Client(connection);
  const grants = await watched<AccessGrant>(stack, kube, accessGrants, GRANTS, signal);
  const invocations = await watched<OperationInvocation>(stack, kube, operationInvocations, GRANTS, signal);
  const stages: Record<Stage, number[]> = {
    "window opened": [],
    "invocation created": [],
    "line claimed": [],
    started: [],
  };
  for (let round = -3; round < rounds; round++) {
    const name = await waitingGrant({ vendor, target }, round, grants, signal);
    const seen = observed(name, grants, invocations);
    const body = { spec: { approvedForMinutes: 5 } };
    await approver.patch(accessGrants, { name, namespace: GRANTS }, { type: "merge", body }, {}, signal);
    const approvedAt = performance.now();
    for (const [stage, at] of Object.entries(await seen) as [Stage, number][]) {
      if (round >= 0) stages[stage].push(Math.max(0, at - approvedAt));
    }
    await until(() => grants.store.get(`${GRANTS}/${name}`)?.status?.state === "Completed", signal);
  }
  const spreads = Object.entries(stages).map(([stage, times]) => [stage, spread(times)] as const);
  return { started: spread(stages.started), stages: Object.fromEntries(spreads) };
}

/** Events that the API server shows between an approval and the act, in this order. */
type Stage = "window opened" | "invocation created" | "line claimed" | "started";

function observed(
  name: string,
  grants: Informer<AccessGrant>,
  invocations: Informer<OperationInvocation>,
): Promise<Record<Stage, number>> {
  return new Promise((resolve) => {
    const at: Partial<Record<Stage, number>> = {};
    const mark = (stage: Stage): void => {
      at[stage] ??= performance.now();
    };
    const removeFirst = grants.onChange(({ object }) => {
      if (object.metadata.name !== name) return;
      if (object.status?.state === "Approved") mark("window opened");
      if (object.status?.commands?.some(({ commandId }) => commandId !== undefined)) mark("line claimed");
    });
    const removeSecond = invocations.onChange(({ object }) => {
      if (object.spec.grantName !== name) return;
      mark("invocation created");
      if (object.status?.startedAt === undefined) return;
      mark("started");
      removeFirst();
      removeSecond();
      // Two watches are two sockets: the later stage may be shown first.
      const { started = Number.NaN } = at;
      resolve({ "window opened": started, "invocation created": started, "line claimed": started, ...at, started });
    });
  });
}

async function waitingGrant(
  { vendor, target }: Pick<World, "vendor" | "target">,
  round: number,
  grants: Informer<AccessGrant>,
  signal: AbortSignal,
): Promise<string> {
  const params = { namespace: target.workloadNamespace, kind: "deployment", name: "web", replicas: 3 + (round & 1) };
  const { id } = await vendor.engineer.accessRequests.create(
    {
      body: {
        deploymentId: vendor.deploymentId,
        remediationPlanId: "bench",
        title: "Scale web",
        commands: [{ command: "kubernetes/scale", summary: "Scale web", params }],
      },
    },
    signal,
  );
  await vendor.engineer.accessRequests.queue({ params: { id } }, signal);
  const name = objectName(id);
  await until(() => grants.store.get(`${GRANTS}/${name}`)?.status?.state === "Pending", signal);
  return name;
}

async function until(condition: () => boolean, signal: AbortSignal): Promise<void> {
  while (!condition()) await sleep(systemClock, POLL_MS, signal);
}
