import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { accessGrants } from "../crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../crds/kinds/operation-invocation.ts";
import { redactText } from "../crds/redact.ts";
import type { Client } from "../kube/client/client.ts";
import { Controller } from "../kube/controller/controller.ts";
import { notifiedBy, reads, type Source, watches } from "../kube/controller/sources.ts";
import type { Runnable } from "../kube/manager/manager.ts";
import type { KubeMetrics } from "../kube/metrics/metrics.ts";
import { Access } from "./access/access.ts";
import type { Rights } from "./access/rights.ts";
import { RoleLending } from "./access/role-lending.ts";
import { Sweeper } from "./access/sweep.ts";
import type { AdmissionWatch } from "./admission/admission-watch.ts";
import type { Caches } from "./caches.ts";
import { type GrantPorts, reconcileGrant } from "./grants/grant-reconciler.ts";
import { limitReached } from "./grants/open-limit.ts";
import { type InvocationPorts, reconcileInvocation } from "./invocations/invocation-reconciler.ts";
import { OperationRunner, type RunnerPorts } from "./invocations/operation-runner.ts";
import type { OperatorConfig } from "./kernel/config.ts";
import type { EventPublisher } from "./kernel/event-publisher.ts";
import type { OperatorMetrics } from "./kernel/metrics.ts";
import { writeStatus } from "./kernel/status-writer.ts";
import { RunningOperations } from "./operations/running-operations.ts";

/** What the parts of the operator share. */
export interface OperatorParts {
  readonly client: Client;
  readonly caches: Caches;
  readonly admission: AdmissionWatch;
  readonly rights: Rights;
  readonly metrics: OperatorMetrics;
  readonly kube: KubeMetrics;
  readonly publisher: EventPublisher;
  readonly fence: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly config: OperatorConfig;
}

/** A conflict or a blip is retried soon, a broken API server not hotter than every half minute. */
const BACKOFF = { baseMs: 10, maxMs: 30_000 };

/** Everything that only the leader does. */
export function operatorControllers(parts: OperatorParts): readonly Runnable[] {
  const { client, caches, metrics, fence, clock, log, config } = parts;
  const { grantsNamespace, roleKind, lendingMode: mode } = config;
  const access = new Access(client, { grantsNamespace, roleKind, mode });
  const roleLending = new RoleLending({ access, grantsNamespace, roleKind, mode });
  const running = new RunningOperations();
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
  return [
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
  const { client, caches, admission, rights, metrics, publisher, fence, clock } = parts;
  const ports: GrantPorts = {
    clock,
    fence,
    grant: (key) => caches.grants.store.get(key),
    invocation: (commandId) => caches.invocationOf(commandId),
    policy: () => caches.policy,
    acceptedOf: (deploymentId) => caches.acceptedOf(deploymentId),
    enforcement: () => admission.current,
    rights,
    writeStatus: (grant, status, signal) => writeStatus(client, accessGrants, grant, status, signal),
    access,
    roleLending,
    running,
    metrics,
    publisher,
  };
  return controller("accessgrant", parts, (key, context) => reconcileGrant(key, ports, context), [
    watches(caches.grants),
    watches(caches.invocations, (invocation) => caches.grantKeysOver(invocation)),
    watches(caches.policies, () => caches.openGrantKeys()),
    watches(caches.deployments, ({ spec }) => caches.openGrantKeys(spec.deploymentId)),
    notifiedBy(admission, () => caches.openGrantKeys()),
    notifiedBy(rights.watch, () => caches.openGrantKeys()),
    notifiedBy(rights.clusterWatch, () => caches.openGrantKeys()),
  ]);
}

function invocationController(
  parts: OperatorParts,
  access: Access,
  roleLending: RoleLending,
  running: RunningOperations,
): Controller {
  const { client, caches, rights, metrics, publisher, fence, clock, log, config } = parts;
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
    cachedFacts: (invocation) => caches.facts(invocation),
    liveFacts: (invocation, signal) => caches.liveFacts(invocation, signal),
    liveInvocation,
    writeInvocation,
    writeGrant: (grant, status, signal) => writeStatus(client, accessGrants, grant, status, signal),
    graceMs,
    obstacle: () => rights.obstacle,
    limitReached: (invocation, grant) => limitReached(invocation, grant, caches),
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

function controller(
  name: string,
  { clock, log, kube, config }: OperatorParts,
  reconcile: ConstructorParameters<typeof Controller>[0]["reconcile"],
  sources: readonly Source[],
): Controller {
  const concurrency = config.workers;
  const common = { clock, log, metrics: kube, concurrency, backoff: BACKOFF };
  // A kind that may not be read is shown by readiness, log and event; starting again would not make it readable.
  return new Controller({ ...common, name, reconcile, sources, cacheSyncTimeoutMs: "never" });
}
