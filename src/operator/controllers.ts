import { objectName } from "../crds/group.ts";
import { type AccessGrant, type AccessGrantStatus, accessGrants } from "../crds/kinds/access-grant.ts";
import {
  type ManagedDeployment,
  type ManagedDeploymentStatus,
  managedDeployments,
} from "../crds/kinds/managed-deployment.ts";
import { type OperationInvocation, operationInvocations } from "../crds/kinds/operation-invocation.ts";
import { DEBUG_MODES } from "../crds/operations/debug.ts";
import { redactText } from "../crds/redact.ts";
import { writeStatus } from "../kube/client/status-writer.ts";
import type { Controller } from "../kube/controller/controller.ts";
import { notifiedBy, reads, watches } from "../kube/controller/sources.ts";
import type { Runnable } from "../kube/manager/manager.ts";
import { Access } from "./access/access.ts";
import { RoleLending } from "./access/role-lending.ts";
import { Sweeper } from "./access/sweep.ts";
import { debugSessionParts } from "./debug-controller.ts";
import { drainController } from "./drain-controller.ts";
import { type GrantPorts, reconcileGrant } from "./grants/grant-reconciler.ts";
import { limitReached } from "./grants/open-limit.ts";
import { linkReceipt, type ReceiptPorts } from "./grants/receipt-chain.ts";
import { type InvocationPorts, reconcileInvocation } from "./invocations/invocation-reconciler.ts";
import { OperationRunner, type RunnerPorts } from "./invocations/operation-runner.ts";
import { RunningOperations } from "./operations/running-operations.ts";
import { controller, type OperatorParts } from "./operator-parts.ts";
import { rolloutParts } from "./rollout-controller.ts";

/** Everything that only the leader does. */
export function operatorControllers(parts: OperatorParts): readonly Runnable[] {
  const { client, caches, metrics, fence, clock, log, config, plugins } = parts;
  const { grantsNamespace, roleKind, lendingMode: mode } = config;
  const access = new Access(client, { grantsNamespace, roleKind, mode });
  const roleLending = new RoleLending({ access, grantsNamespace, roleKind, mode, commands: plugins.commands });
  const running = new RunningOperations();
  const debug = debugSessionParts(parts);
  const releases = rolloutParts(parts);
  const sweeper = new Sweeper(
    {
      client,
      access,
      fence,
      clock,
      log,
      metrics,
      grants: () => caches.grants.store.values(),
      invocations: () => caches.invocations.store.values(),
      running: () => running.owners,
      lendingMode: mode,
      places: () => caches.places(),
      more: async (signal) => {
        await debug?.sweep(signal);
        await releases?.sweep(signal);
      },
    },
    config.sweepIntervalMs,
  );
  // A grant that is gone has no reconcile that could find its uid: what runs under it is stopped here.
  caches.grants.onChange((change) => {
    const gone = change.type === "deleted" ? change.object : change.type === "updated" ? change.previous : undefined;
    if (gone === undefined || (change.type === "updated" && change.object.metadata.uid === gone.metadata.uid)) return;
    running.stop(gone.metadata.uid, "revoked");
    sweeper.soon();
  });
  // A session that is gone has no reconcile, and its account no owner that the garbage collector would follow.
  caches.sessions?.onChange(({ type }) => {
    if (type === "deleted") sweeper.soon();
  });
  // Nor has a rollout: what is done for it is stopped, and its bindings in other namespaces have no owner.
  caches.rollouts?.onChange(({ type }) => {
    if (type === "deleted") sweeper.soon();
  });
  const drains = drainController(parts);
  return [
    ...(debug ? [debug.controller] : []),
    ...(releases?.controllers ?? []),
    ...(drains ? [drains] : []),
    grantController(parts, access, roleLending, running),
    invocationController(parts, access, roleLending, running),
    sweeper,
  ];
}

function grantController(
  parts: OperatorParts,
  access: Access,
  roleLending: RoleLending,
  running: RunningOperations,
): Controller {
  const { client, caches, admission, rights, metrics, publisher, fence, clock, config, plugins } = parts;
  const isOn = config.debugEnabled && config.lendingMode === "operator";
  const off = DEBUG_MODES.filter((mode) => !isOn || !config.debugModes.includes(mode));
  const ports: GrantPorts = {
    clock,
    fence,
    grant: (key) => caches.grants.store.get(key),
    invocation: (commandId) => caches.invocationOf(commandId),
    session: (sessionId) => caches.sessionOf(sessionId),
    drain: (commandId) => caches.drainOf(commandId),
    policy: () => caches.policy,
    commands: plugins.commands,
    problemOf: plugins.problemOf,
    switchedOff: off.map((mode) => `debug/${mode}`),
    acceptedOf: (deploymentId) => caches.acceptedOf(deploymentId),
    enforcement: () => admission.current,
    rights,
    writeStatus: (grant, status, signal) => writeStatus(client, accessGrants, grant, status, signal),
    linkReceipt: (grant, signal) => linkReceipt(grant, receiptPorts(parts), signal),
    access,
    roleLending,
    running,
    metrics,
    publisher,
  };
  return controller("accessgrant", parts, (key, context) => reconcileGrant(key, ports, context), [
    watches(caches.grants),
    watches(caches.invocations, (invocation) => caches.grantKeysOver(invocation)),
    ...(caches.sessions ? [watches(caches.sessions, (session) => caches.grantKeysOver(session))] : []),
    // One of them may have the line that this drain has used.
    ...(caches.drains
      ? [
          watches(caches.drains, ({ spec: { requested } }) =>
            requested === undefined ? [] : caches.openGrantKeys(requested.deploymentId),
          ),
        ]
      : []),
    watches(caches.policies, () => caches.openGrantKeys()),
    watches(caches.deployments, ({ spec }) => caches.openGrantKeys(spec.deploymentId)),
    notifiedBy(admission, () => caches.openGrantKeys()),
    notifiedBy(rights.watch, () => caches.openGrantKeys()),
    notifiedBy(rights.clusterWatch, () => caches.openGrantKeys()),
  ]);
}

function receiptPorts({ client, caches, fence, config }: OperatorParts): ReceiptPorts {
  const { grantsNamespace: namespace } = config;
  return {
    fence,
    liveDeployment: (id, signal) =>
      client.get<ManagedDeployment>(managedDeployments, { namespace, name: objectName(id) }, signal),
    liveGrant: (name, signal) => client.get<AccessGrant>(accessGrants, { namespace, name }, signal),
    grantsOf: (id) => caches.grants.store.list().filter(({ spec }) => spec.deploymentId === id),
    writeHead: (deployment, receipts, signal) =>
      writeStatus<ManagedDeployment, ManagedDeploymentStatus>(
        client,
        managedDeployments,
        deployment,
        { receipts },
        signal,
      ),
    writeReceipt: (grant, receipt, signal) =>
      writeStatus<AccessGrant, AccessGrantStatus>(client, accessGrants, grant, { receipt }, signal),
  };
}

function invocationController(
  parts: OperatorParts,
  access: Access,
  roleLending: RoleLending,
  running: RunningOperations,
): Controller {
  const { client, caches, rights, metrics, publisher, fence, clock, log, config, plugins } = parts;
  const { shutdownGraceMs: graceMs } = config;
  const writeInvocation: InvocationPorts["writeInvocation"] = (invocation, status, signal) =>
    writeStatus(client, operationInvocations, invocation, status, signal);
  const liveInvocation: InvocationPorts["liveInvocation"] = ({ metadata }, signal) =>
    client.get<OperationInvocation>(operationInvocations, metadata, signal);
  const runnerPorts: RunnerPorts = {
    access,
    clientFor: (token) => client.withToken(token),
    fence,
    redact: (text) => redactText(text, metrics.redacted),
    clock,
    log,
    writeInvocation,
    liveInvocation,
    grantStands: (name, uid) => caches.grantStands(name, uid),
    runningOperations: running,
    metrics,
    publisher,
    graceMs,
  };
  const ports: InvocationPorts = {
    clock,
    fence,
    invocation: (key) => caches.invocations.store.get(key),
    named: config.deployments,
    findOperation: plugins.findOperation,
    commands: plugins.commands,
    problemOf: plugins.problemOf,
    cachedFacts: (invocation) => caches.facts(invocation),
    liveFacts: (invocation, signal) => caches.liveFacts(invocation, signal),
    liveInvocation,
    writeInvocation,
    writeGrant: (grant, status, signal) => writeStatus(client, accessGrants, grant, status, signal),
    graceMs,
    obstacle: () => rights.obstacle,
    limitReached: (invocation, grant) =>
      limitReached(invocation, grant, caches) ??
      plugins.waitsFor(`${invocation.spec.plugin}/${invocation.spec.operation}`),
    roleLending,
    runner: new OperationRunner(runnerPorts),
    metrics,
    publisher,
  };
  return controller("operationinvocation", parts, (key, context) => reconcileInvocation(key, ports, context), [
    watches(caches.invocations),
    watches(caches.grants, (grant) => caches.invocationKeysUnder(grant)),
    // Not to be judged by policies and places that are not known yet.
    reads(caches.policies),
    reads(caches.deployments),
    notifiedBy(rights.watch, () => caches.waitingInvocationKeys()),
  ]);
}
