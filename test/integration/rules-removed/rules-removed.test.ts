import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { objectName } from "../../../src/crds/group.ts";
import { managedDeployments } from "../../../src/crds/managed-deployment.ts";
import { sleep, systemClock } from "../../../src/kube/clock.ts";
import { LeadershipLostError } from "../../../src/kube/leader-election.ts";
import { type DynamicObject, resources } from "../../../src/kube/resource.ts";
import { useCluster } from "../../cluster/use-cluster.ts";
import { type AgentWorld, createAgentWorld, GRANTS, type Running } from "../agent/agent-world.ts";
import { eventually, signal } from "../wait.ts";
import { RULES, type Rule, removeRule } from "./rule.ts";

// Each rule of the agent and of the operator taken away in turn, both from a running process and before a start.

/** What becomes of a command that the customer lets run by itself while the rule is missing. */
type Fate = "runs" | "waits" | "fails";
/** Who names the missing rule. `Permitted` and `IdentityVerified` are conditions; an event is told for all but itself. */
type Voice = "deployment" | "grant" | "identity" | "event";

/** By the role's holder, then the rule's first resource and, where that is not enough, its first verb. */
const EXPECTED: Readonly<Record<string, readonly [Fate, ...Voice[]]>> = {
  "agent accessgrants": ["waits", "deployment", "event"],
  "agent manageddeployments": ["runs", "event"],
  "agent manageddeployments/status": ["runs", "event"],
  "agent events": ["runs", "deployment"],
  "agent leases create": ["runs", "deployment", "event"],
  "agent leases get": ["waits", "event"],
  "agent deployments": ["runs", "deployment", "event"],
  "agent pods": ["runs", "deployment", "event"],
  "operator accessgrants": ["waits", "event"],
  "operator accessgrants/status": ["waits", "event"],
  "operator serviceaccounts": ["waits", "grant", "event"],
  "operator serviceaccounts/token": ["waits", "grant", "event"],
  "operator events": ["runs", "grant"],
  "operator leases create": ["runs", "event"],
  "operator leases get": ["waits", "event"],
  "operator validatingadmissionpolicies": ["runs", "identity"],
  "operator mutatingadmissionpolicies": ["runs", "identity"],
  "operator rolebindings": ["fails", "grant", "event"],
  "operator clusterroles": ["fails", "grant", "event"],
};

/** Two looks at the rights, and a few tries of whatever is refused. */
const WATCHED_MS = 3_000;
/** Refusals that a patient process collects in that time; the elector alone tries five times a second here. */
const MAX_REFUSALS = 40;
const FAST = {
  SALLYPORT_ACCESS_CHECK_INTERVAL: "1s",
  SALLYPORT_LEASE_DURATION: "10s",
  SALLYPORT_RENEW_DEADLINE: "8s",
  SALLYPORT_RETRY_PERIOD: "200ms",
};

const cluster = useCluster();
let world: AgentWorld;
let agent: Running;
let operator: Running;
let grantId = "";
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
  const { id } = await world.ask(9);
  grantId = id;
  await world.grant(id, ({ status }) => status?.state === "Pending");
  await fateOf("runs", await invoke());
}, 180_000);
afterAll(async () => {
  await agent?.stop();
  await operator?.stop();
  await world?.close();
}, 60_000);

test("every rule has its expectation", () => {
  expect(new Set(RULES.map(keyOf))).toEqual(new Set(Object.keys(EXPECTED)));
});

describe.each(RULES)("without $title", (rule) => {
  test("it is named, the rest goes on, nothing spins or ends, and it heals by itself", async () => {
    const [fate, ...voices] = EXPECTED[keyOf(rule)] ?? ["runs"];
    const restore = await removeRule(world.admin, rule);
    try {
      await startedAgain(rule);
      for (const voice of voices) await told(voice, rule);
      const beats = heartbeats();
      const command = await invoke();
      await fateOf(fate, command);
      const refusals = await refused(subject(rule));
      await sleep(systemClock, WATCHED_MS, signal());
      expect((await refused(subject(rule))) - refusals).toBeLessThan(MAX_REFUSALS);
      expect([agent.failure, operator.failure]).toEqual([undefined, undefined]);
      // Of the two, who is not concerned goes on; a leader's work needs its lease.
      if (keyOf(rule) !== "agent leases get") expect(heartbeats()).toBeGreaterThan(beats);
      await restore();
      if (fate === "waits") await fateOf("runs", command);
    } finally {
      await restore();
    }
    await fateOf("runs", await invoke());
    await healed();
  }, 120_000);
});

/** The process whose rule it is: ends only where it may not lead any more, and stays up when started without the rule. */
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

function keyOf({ role, rule }: Rule): string {
  const [resource = ""] = rule.resources;
  return `${role.holder} ${resource}${resource === "leases" ? ` ${rule.verbs[0]}` : ""}`;
}

async function told(voice: Voice, { role, rule }: Rule): Promise<void> {
  const [resource = ""] = rule.resources;
  // Of the names that a rule lists, the plan of our grant needs one.
  const named = resource === "clusterroles" ? "bind clusterroles/sallyport-op-kubernetes-scale" : resource;
  if (voice === "event") {
    await eventually(
      async () => (await listed(resources.events)).map((event) => event.note).map(String),
      (notes) => notes.some((note) => note.includes("may not") && note.includes(resource) && note.includes(role.name)),
    );
    return;
  }
  if (voice === "deployment") {
    const key = { namespace: GRANTS, name: objectName(world.deploymentId) };
    const read = () => world.admin.get<DynamicObject>(managedDeployments, key, signal());
    await eventually(read, (managed) => conditionOf(managed, "Permitted", "RuleMissing").includes(named));
    return;
  }
  const [type, reason] = voice === "grant" ? ["Permitted", "RuleMissing"] : ["IdentityVerified", "NotEnforced"];
  await world.grant(grantId, (grant) => conditionOf(grant, type, reason).includes(named));
}

async function healed(): Promise<void> {
  await world.grant(
    grantId,
    (grant) =>
      conditionOf(grant, "Permitted", "RightsComplete") !== "" &&
      conditionOf(grant, "IdentityVerified", "AwaitingDecision") !== "",
  );
  const key = { namespace: GRANTS, name: objectName(world.deploymentId) };
  const read = () => world.admin.get<DynamicObject>(managedDeployments, key, signal());
  await eventually(read, (managed) => conditionOf(managed, "Permitted", "RightsComplete") !== "");
}

/** The message of the condition, when it is there for this reason. */
function conditionOf(object: object, type: string, reason: string): string {
  const { status } = object as {
    readonly status?: { readonly conditions?: readonly Readonly<Record<string, string>>[] };
  };
  const found = status?.conditions?.find((condition) => condition.type === type && condition.reason === reason);
  return found?.message ?? "";
}

async function listed(resource: typeof resources.events): Promise<readonly DynamicObject[]> {
  const all: DynamicObject[] = [];
  for await (const each of world.admin.list<DynamicObject>(resource, { namespace: GRANTS }, signal())) all.push(each);
  return all;
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

async function fateOf(fate: Fate, id: string): Promise<void> {
  if (fate === "runs") await world.command(id, ({ state }) => state === "SUCCEEDED");
  if (fate === "fails") {
    const { error } = await world.command(id, ({ state }) => state === "FAILED");
    expect(error?.message).toContain("forbidden");
  }
  if (fate === "waits") {
    await sleep(systemClock, WATCHED_MS, signal());
    const { state } = await world.engineer.commands.get({ params: { id }, query: {} }, signal());
    expect(["PENDING", "DISPATCHED"]).toContain(state);
  }
}
