import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { sleep, systemClock } from "../../../src/base/clock.ts";
import { isFull } from "../../../src/base/testing/full.ts";
import { LeadershipLostError } from "../../../src/kube/election/leader-election.ts";
import type { Running } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";
import { EXPECTED, fateOf, healed, keyOf, told, WATCHED_MS, type Witness } from "./consequences.ts";
import { RULES, type Rule, removeRule } from "./rule.ts";

// Removes each rule of the agent and of the operator in turn, from a running process and before a start.

/**
 * The most refusals that a process with back-off collects in that time; the elector alone tries five times a second
 * here.
 */
const MAX_REFUSALS = 40;
const FAST = {
  SALLYPORT_ACCESS_CHECK_INTERVAL: "1s",
  SALLYPORT_LEASE_DURATION: "10s",
  SALLYPORT_RENEW_DEADLINE: "8s",
  SALLYPORT_RETRY_PERIOD: "200ms",
};

const cluster = useCluster({ isOwn: true });
let world: AgentWorld;
let agent: Running;
let operator: Running;
let witness: Witness;
let starts = 0;

const startAgent = (): Running => {
  starts += 1;
  return world.startAgent(`agent-${starts}`, FAST);
};
const startOperator = (): Running => {
  starts += 1;
  const identity = `operator-${starts}`;
  return world.startOperator({ ...FAST, SALLYPORT_ADMISSION_CHECK_INTERVAL: "2s", SALLYPORT_IDENTITY: identity });
};

beforeAll(async () => {
  world = await createAgentWorld(cluster());
  operator = startOperator();
  agent = startAgent();
  const { admin, deploymentId, grant, command } = world;
  const { id: pending } = await world.ask(9);
  witness = { admin, deploymentId, pending, grant, command };
  await world.grant(pending, ({ status }) => status?.state === "Pending");
  await fateOf("runs", await invoke(), witness);
});
afterAll(async () => {
  await agent?.stop();
  await operator?.stop();
  await world?.close();
});

test("every rule has its expectation", () => {
  expect(new Set(RULES.map(keyOf))).toEqual(new Set(Object.keys(EXPECTED)));
});

/** One rule of each process and consequence; all of them in a full run. */
const TAKEN = isFull ? RULES : [...Map.groupBy(RULES, consequence).values()].flatMap(([first]) => first ?? []);

/** One look at all that a rule names may fall into that time beside the one of the start. */
function mostRefusals({ rule: { resources, resourceNames = [] } }: Rule): number {
  return Math.max(MAX_REFUSALS, 2 * resources.length * resourceNames.length + 1);
}

function consequence(rule: Rule): string {
  return `${rule.role.holder} ${EXPECTED[keyOf(rule)]?.[0]}`;
}

describe.each(TAKEN)("without $title", (rule) => {
  test("it is named, the rest goes on, nothing spins or ends, and it heals by itself", async () => {
    const [fate, ...voices] = EXPECTED[keyOf(rule)] ?? ["runs"];
    const restore = await removeRule(world.admin, rule);
    try {
      await startedAgain(rule);
      for (const voice of voices) await told(voice, rule, witness);
      const beats = heartbeats();
      const command = await invoke();
      await fateOf(fate, command, witness);
      const refusals = await refused(subject(rule));
      await sleep(systemClock, WATCHED_MS, signal());
      expect((await refused(subject(rule))) - refusals).toBeLessThan(mostRefusals(rule));
      expect([agent.failure, operator.failure]).toEqual([undefined, undefined]);
      // The agent goes on with its work; a leader's work needs its lease.
      if (keyOf(rule) !== "agent leases get") expect(heartbeats()).toBeGreaterThan(beats);
      await restore();
      if (fate === "waits") await fateOf("runs", command, witness);
    } finally {
      await restore();
    }
    await fateOf("runs", await invoke(), witness);
    await healed(witness);
  });
});

test("two rules of one role that a running process loses are two events", async () => {
  await operator.stop();
  operator = startOperator();
  const mine = RULES.filter(({ role }) => role.holder === "operator" && role.reach === "grants");
  const [first, second] = ["serviceaccounts", "serviceaccounts/token"].map((resource) =>
    mine.find(({ rule }) => rule.resources[0] === resource),
  );
  if (first === undefined || second === undefined) throw new Error("no such rules");
  for (const rule of [first, second]) {
    const restore = await removeRule(world.admin, rule);
    try {
      await told("event", rule, witness, `operator-${starts}`);
    } finally {
      await restore();
    }
    await healed(witness);
  }
});

/** Starts the rule's process without the rule. It must stay up; it ends only where it may no longer lead. */
async function startedAgain(rule: Rule): Promise<void> {
  const isElection = keyOf(rule).endsWith("leases get");
  if (isElection) {
    const failure = await eventually(
      async () => subject(rule).failure,
      () => true,
    );
    expect(failure).toBeInstanceOf(LeadershipLostError);
  } else await subject(rule).stop();
  if (rule.role.holder === "agent") agent = startAgent();
  else operator = startOperator();
}

function subject({ role }: Rule): Running {
  return role.holder === "agent" ? agent : operator;
}

function heartbeats(): number {
  return world.gate.passed.filter((line) => line.endsWith("/heartbeat")).length;
}

/** Requests that the API server answered with 403. */
async function refused({ registry }: Running): Promise<number> {
  const metric = (await registry.getMetricsAsJSON()).find(({ name }) => name === "rest_client_requests_total");
  const values = metric?.values.filter(({ labels }) => String(labels.code) === "403") ?? [];
  return values.reduce((sum, { value }) => sum + value, 0);
}

async function invoke(): Promise<string> {
  const body = {
    deploymentId: world.deploymentId,
    plugin: "kubernetes",
    operation: "get-pods",
    params: { namespace: "shop" },
  };
  const answer = await world.engineer.operations.invoke({ query: { project: world.projectId }, body }, signal());
  return String(answer.commandId);
}
