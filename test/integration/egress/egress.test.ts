import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { type SentField, sentFields } from "../../../scripts/generate/egress/egress.ts";
import { HEADER_WORDS } from "../../../scripts/generate/egress/egress-words.ts";
import { AGENT_ROUTES } from "../../../src/agent/platform-link/routes.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { defaultPolicy } from "../../../src/crds/manifests/default-policy.ts";
import { openCluster, openNodes } from "../../../src/crds/manifests/installation.ts";
import { inScope, OPERATIONS } from "../../../src/crds/operations/catalog.ts";
import { RESULT_MARKS } from "../../../src/crds/operations/result-words.ts";
import { INSTALLED } from "../../world/installation.ts";
import { SHOP } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";
import { ChattyKubelet } from "../secrets-canaries.ts";
import { CapturedFields, covers } from "./captured.ts";
import { RELEASE_FIELDS } from "./release-fields.ts";
import { createSamples } from "./shop.ts";

// Compares docs/data-that-leaves.md with what really leaves: a gate records every request of the agent.

/** Documented fields that this story cannot show, each with its reason. */
const UNSEEN: Readonly<Record<string, string>> = {
  "debugSessions.patch body.auditHead": "only when a session was open, with the tunnel",
  ...Object.fromEntries(
    ["by", "reason"].map((field) => [
      `accessRelay.receipts body.receipts[].receipt.revocation.${field}`,
      "only when an approved grant is revoked",
    ]),
  ),
  "commands.list query.cursor": "only with more than 100 open commands",
  "sync.reconcile body.observedInventoryBatches[].removed[]": "only when a workload is deleted",
  "sync.reconcile body.removedHeartbeats[].resourceType": "only when a workload is deleted",
  "sync.reconcile body.removedHeartbeats[].resourceId": "only when a workload is deleted",
  "sync.reconcile body.observedInventoryBatches[].resources[].collectionIssues[].reason":
    "only when a right is taken away",
  "sync.reconcile body.observedInventoryBatches[].resources[].collectionIssues[].severity":
    "only when a right is taken away",
  "sync.reconcile body.observedInventoryBatches[].resources[].collectionIssues[].source":
    "only when a right is taken away",
  "sync.reconcile body.observedInventoryBatches[].resources[].collectionIssues[].message":
    "only when a right is taken away",
  ...Object.fromEntries(
    ["reason", "severity", "source", "message"].map((field) => [
      `sync.reconcile body.resourceHeartbeats[].data.data.status.collectionIssues[].${field}`,
      "only when something is not read",
    ]),
  ),
  ...Object.fromEntries(
    RELEASE_FIELDS.map((field) => [`sync.reconcile ${field}`, "only with releases: releases/wishes.test.ts"]),
  ),
  "sync.reconcile body.state.stackState.resources.*.config": "always empty: there is no field in it",
  "sync.reconcile body.state.stackState.resources.*.outputs": "only with workloads that a release has installed",
  "any omitted": "only when the API server refuses to store a result",
  "any truncated": "only with a result over 60,000 characters",
};

/** Routes that the tunnel calls and the agent does not: egress-tunnel.test.ts. */
const OF_TUNNEL: readonly string[] = ["debugSessions.get", "debugRelay.ticket"];
/** Machines are off in this story; machines/join.test.ts has those of the join server. */
const OF_MACHINES: readonly string[] = ["machines.actions", "machines.report", "machines.join", "machines.joinServer"];
const agentsFields = () => [...sentFields()].filter(([route]) => ![...OF_TUNNEL, ...OF_MACHINES].includes(route));

const cluster = useCluster({ holds: INSTALLED });
const captured = new CapturedFields(AGENT_ROUTES);
/** The operation of each command, by its id. */
const operations = new Map<string, string>();
let world: AgentWorld;
let agent: Running;
let operator: Running;
let kubelet: ChattyKubelet;

beforeAll(async () => {
  kubelet = await ChattyKubelet.listen(cluster(), "listening on port 8080\nready\n");
  world = await createAgentWorld(cluster());
  world.gate.onHeard = captured.add;
  await createSamples(cluster(), world.admin, kubelet.node);
  const auto = { "read-only": "auto", mutating: "auto", destructive: "auto" } as const;
  const policy = defaultPolicy(DEFAULT_NAMES, auto);
  const clusterOperations = NODE_OPERATIONS.map((operation) => ({ operation, deployments: [world.deploymentId] }));
  const spec = { ...(policy.spec as object), clusterOperations };
  await cluster().apply([...openCluster(), ...openNodes(), { ...policy, spec }]);
  const rules = [{ pattern: "kubernetes/*", decision: "auto" as const }];
  await world.vendorAdmin.operations.putPolicy({ query: { project: world.projectId }, body: { rules } }, signal());
  operator = world.startOperator();
  agent = world.startAgent("agent-1", { SALLYPORT_OBSERVED_NODES: "on" });
  await theStory();
  await agent.stop();
  for (const id of captured.results.keys()) {
    operations.set(id, (await world.engineer.commands.get({ params: { id }, query: {} }, signal())).name);
  }
});
afterAll(async () => {
  await agent?.stop();
  await operator?.stop();
  await world?.close();
  await kubelet?.close();
});

describe("docs/data-that-leaves.md", () => {
  test("names every route that was called", () => {
    expect(captured.strangers).toEqual([]);
    expect([...captured.fields.keys()].toSorted()).toEqual(
      agentsFields()
        .map(([route]) => route)
        .toSorted(),
    );
  });

  test("names every header that was sent, and no other", () => {
    // Sent with reports over 8 KiB, which this story may not have.
    const seen = new Set([...captured.headers, "content-encoding"]);
    expect([...seen].toSorted()).toEqual(Object.keys(HEADER_WORDS).toSorted());
  });

  test("names every field that was sent", () => {
    expect(captured.undocumented(sentFields())).toEqual([]);
  });

  test("names no field that is never sent, but for those with a reason", () => {
    const isSeen = (route: string, { path, free }: SentField): boolean =>
      [...(captured.fields.get(route) ?? [])].some((seen) => covers(path, seen, free));
    const unseen = agentsFields().flatMap(([route, fields]) =>
      fields.filter((field) => !isSeen(route, field)).map(({ path }) => `${route} ${path}`),
    );
    expect(unseen.filter((each) => UNSEEN[each] === undefined)).toEqual([]);
  });

  test("names every field of a result that was sent, and no other", () => {
    const seen = new Map<string, Set<string>>();
    for (const [id, leaves] of captured.results) {
      const operation = operations.get(id) ?? "";
      seen.set(operation, new Set([...(seen.get(operation) ?? []), ...leaves]));
    }
    expect([...seen.keys()].toSorted()).toEqual(OPERATIONS.map(({ command }) => command).toSorted());
    const marks = Object.keys(RESULT_MARKS);
    const problems = [...seen].flatMap(([operation, leaves]) => {
      const documented = Object.keys(OPERATIONS.find(({ command }) => command === operation)?.result ?? {});
      const isKnown = (leaf: string): boolean => [...documented, ...marks].some((path) => covers(path, leaf, false));
      const undocumented = [...leaves]
        .filter((leaf) => !isKnown(leaf))
        .map((leaf) => `undocumented: ${operation} ${leaf}`);
      const unseen = documented
        .filter((path) => ![...leaves].some((leaf) => covers(path, leaf, false)))
        .filter((path) => UNSEEN[`${operation} ${path}`] === undefined)
        .map((path) => `unseen: ${operation} ${path}`);
      return [...undocumented, ...unseen];
    });
    expect(problems).toEqual([]);
  });
});

/** All that the agent does: heartbeats, reports, every operation, requests for decisions, and their results. */
/** Nothing installs it, which the next report says. */
async function promotedRelease(): Promise<void> {
  const body = { project: world.projectId, stack: { kubernetes: { id: "shop", resources: {} } } };
  await world.vendorAdmin.releases.create({ body }, signal());
  await eventually(
    () => world.vendorAdmin.deployments.get({ params: { id: world.deploymentId } }, signal()),
    ({ error }) => error !== null,
  );
}

async function theStory(): Promise<void> {
  const pod = { namespace: SHOP, pod: "front-1-a" };
  const front = { namespace: SHOP, kind: "deployment", name: "front" };
  await run("get-pods", { namespace: SHOP });
  await run("describe", front);
  await run("describe", { namespace: SHOP, kind: "pod", name: "front-1-a" });
  await run("describe", { namespace: SHOP, kind: "pod", name: "front-1-b" });
  await run("logs", pod);
  await run("events", { namespace: SHOP });
  await run("rollout-status", front);
  await run("rollout-restart", front);
  await run("scale", { ...front, replicas: 3 });
  await run("restart-pod", { namespace: SHOP, pod: "front-1-b" });
  await run("delete-pod", { namespace: SHOP, pod: "front-1-c" });
  expect(await run("logs", { namespace: SHOP, pod: "absent" })).toBe("FAILED");
  await claimedByNobody();
  await onNodes();
  await refusedDebugSession();
  await promotedRelease();

  const [approved, denied, revoked] = [await world.ask(4), await world.ask(5), await world.ask(6)];
  await decide(denied.id, { deniedReason: "not today" });
  await decide(approved.id, { approvedForMinutes: 30 });
  await world.request(approved.id, ({ execution }) => execution.state === "succeeded");
  await decide(revoked.id, { approvedForMinutes: 30 });
  await world.request(denied.id, ({ status }) => status === "rejected");
  for (const field of ["lines[].resultDigest", "window", "window.until", "revocation"]) {
    await eventually(
      async () => captured.fields.get("accessRelay.receipts"),
      (seen) => seen.has(`body.receipts[].receipt.${field}`),
    );
  }
  // The agent reports by itself: every field at first, and what changed 5 s after the change.
  for (const field of [
    "body.resourceHeartbeats[].data.data.replicas.misscheduled",
    "body.observedInventoryBatches[].mode",
    "body.resourceHeartbeats[].data.data.events[].message",
    "body.resourceHeartbeats[].data.data.cpu.value",
  ]) {
    await eventually(
      async () => captured.fields.get("sync.reconcile"),
      (seen) => seen.has(field),
    );
  }
}

/** Operations that run only under an approved grant. */
const NODE_OPERATIONS = inScope("cluster").map(({ command }) => command);

async function onNodes(): Promise<void> {
  const commands = NODE_OPERATIONS.map((command) => ({ command, summary: command, params: { name: "node-1" } }));
  const body = { deploymentId: world.deploymentId, remediationPlanId: "plan-2", title: "Empty a node", commands };
  const { id } = await world.engineer.accessRequests.create({ body }, signal());
  await world.engineer.accessRequests.queue({ params: { id } }, signal());
  await decide(id, { approvedForMinutes: 30 });
  await world.request(id, ({ execution }) => execution.state === "succeeded");
}

/** Debug sessions are off in this cluster. */
async function refusedDebugSession(): Promise<void> {
  const params = { id: world.deploymentId };
  const body = { reason: "500s since 14:02", mode: "logs", namespace: SHOP, clientKey: "k".repeat(43) } as const;
  const { session } = await world.engineer.debugRelay.request({ params, body }, signal());
  const look = () => world.engineer.debugSessions.get({ params: { id: session.id } }, signal());
  const { error } = await eventually(look, ({ state }) => state === "failed");
  expect(error).toMatchObject({ code: "SESSION_REFUSED", message: "debug sessions are off in this cluster" });
}

/** The claim succeeded and the gate's answer denies it, so the agent asks for the command's state. */
async function claimedByNobody(): Promise<void> {
  world.gate.set("down");
  const id = await invoke("get-pods", { namespace: SHOP });
  world.gate.lies.set(`/v1/commands/${id}/dispatch`, () => ({ updated: false }));
  world.gate.set("open");
  await world.command(id, ({ state }) => state === "SUCCEEDED");
}

async function run(operation: string, params: Readonly<Record<string, unknown>>): Promise<string> {
  const id = await invoke(operation, params);
  const { state } = await world.command(id, (each) => each.state !== "PENDING" && each.state !== "DISPATCHED");
  return state;
}

async function invoke(operation: string, params: Readonly<Record<string, unknown>>): Promise<string> {
  const body = { deploymentId: world.deploymentId, plugin: "kubernetes", operation, params };
  const answer = await world.engineer.operations.invoke({ query: { project: world.projectId }, body }, signal());
  return String(answer.commandId);
}

/** Approvals answer 503 until the admission policies are loaded. */
async function decide(id: string, words: { approvedForMinutes?: number; deniedReason?: string }): Promise<void> {
  await world.request(id, ({ materialized }) => materialized !== null);
  await eventually(
    () => world.decide(id, words).catch(() => undefined),
    () => true,
  );
}
