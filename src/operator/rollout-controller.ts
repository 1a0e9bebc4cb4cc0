import { type ReleaseContent, releaseContents } from "../crds/kinds/release-content.ts";
import { type Rollout, type RolloutStatus, rollouts as rolloutKind } from "../crds/kinds/rollout.ts";
import { releasePolicyNames } from "../crds/manifests/admission/release-admission.ts";
import { redactText } from "../crds/redact.ts";
import { writeStatus } from "../kube/client/status-writer.ts";
import type { Controller } from "../kube/controller/controller.ts";
import { notifiedBy, reads, watches } from "../kube/controller/sources.ts";
import { RolloutAccess } from "./access/rollout-access.ts";
import { windowState } from "./gate/release-windows.ts";
import { controller, type OperatorParts } from "./operator-parts.ts";
import { type DriftPorts, driftKeys, reconcileDrift } from "./rollouts/drift/drift-reconciler.ts";
import { MemberLooks } from "./rollouts/drift/member-looks.ts";
import { ClusterHands } from "./rollouts/hands/cluster-hands.ts";
import type { RolloutHands } from "./rollouts/hands/hands.ts";
import { releaseSecretNames } from "./rollouts/hands/release-secret-names.ts";
import { ReleaseContents } from "./rollouts/machine/release-contents.ts";
import { type RolloutPorts, reconcileRollout } from "./rollouts/machine/rollout-reconciler.ts";
import { sweepRollouts } from "./rollouts/machine/rollout-sweep.ts";
import { RunningRollouts } from "./rollouts/machine/running-rollouts.ts";
import { RELEASE_KINDS } from "./rollouts/release-rules.ts";

export interface RolloutControllerParts {
  readonly controllers: readonly Controller[];
  readonly sweep: (signal: AbortSignal) => Promise<void>;
}

/** Undefined where releases are switched off. */
export function rolloutParts(parts: OperatorParts): RolloutControllerParts | undefined {
  const { client, caches, admission, rights, serverClock: clock, log, fence, metrics, config } = parts;
  const { rollouts, contents } = caches;
  if (rollouts === undefined || contents === undefined) return undefined;
  const { grantsNamespace, roleKind, releasesRole: role } = config;
  const access = new RolloutAccess(client, { grantsNamespace, roleKind, role });
  const running = new RunningRollouts();
  rollouts.onChange((change) => {
    const { uid } = change.object.metadata;
    if (change.type === "deleted") running.forget(uid);
    if (change.type !== "updated") return;
    if (change.previous.metadata.uid !== uid) running.forget(change.previous.metadata.uid);
    // What is under way is not finished first.
    else if (isStopped(change.object) && !isStopped(change.previous)) running.stop(uid);
  });
  const sweeping = { client, access, fence, clock, log, metrics };
  const ports = rolloutPorts(parts, parts.rolloutHands ?? clusterHands(parts, access), running, contentsOf(parts));
  // A cache of its own: looks at many deployments would push out the contents that gates ask for every few seconds.
  const drift = driftPorts(parts, contentsOf(parts));
  const ofDeployment = ({ spec }: Rollout) => driftKeys(drift.rolloutsOf(spec.deploymentId));
  return {
    sweep: (signal) =>
      sweepRollouts(
        {
          ...sweeping,
          rollouts: () => rollouts.store.list(),
          contents: () => contents.store.list(),
          ...(config.releasesSecrets && {
            secrets: (each) => releaseSecretNames(client, config.releasesNamespace, each),
          }),
          isServed: (deploymentId) => caches.acceptedOf(deploymentId) !== undefined,
          held: () => running.held,
          places: () => caches.rolloutPlaces(),
        },
        signal,
      ),
    controllers: [
      controller("drift", parts, (key, context) => reconcileDrift(key, drift, context), [
        watches(rollouts, ofDeployment),
        reads(caches.deployments),
      ]),
      controller("rollout", parts, (key, context) => reconcileRollout(key, ports, context), [
        // Another rollout of the deployment may wait for it, or be superseded by it.
        watches(rollouts, ({ spec }) => caches.openRolloutKeys(spec.deploymentId)),
        watches(caches.policies, () => caches.openRolloutKeys()),
        watches(caches.deployments, ({ spec }) => caches.openRolloutKeys(spec.deploymentId)),
        reads(contents),
        notifiedBy(admission, () => caches.openRolloutKeys()),
        notifiedBy(rights.watch, () => caches.openRolloutKeys()),
        ...(rights.releaseWatch ? [notifiedBy(rights.releaseWatch, () => caches.openRolloutKeys())] : []),
      ]),
    ],
  };
}

function isStopped({ spec }: Rollout): boolean {
  return spec.abortReason !== undefined || spec.deniedReason !== undefined;
}

function clusterHands(
  { client, config, version, serverClock: clock, fence }: OperatorParts,
  access: RolloutAccess,
): RolloutHands {
  const { grantsNamespace, releasesKinds, releasesSecrets, releasesNamespace } = config;
  const rules = {
    kinds: releasesKinds.length > 0 ? releasesKinds : RELEASE_KINDS,
    registries: config.releasesRegistries,
    mayExpose: config.releasesMayExpose,
    mayRead: {
      secrets: config.releasesMayReadSecrets,
      configMaps: config.releasesMayReadConfigMaps,
      volumeClaims: config.releasesMayReadVolumeClaims,
    },
    mayUse: {
      priorityClasses: config.releasesMayUsePriorityClasses,
      runtimeClasses: config.releasesMayUseRuntimeClasses,
      schedulers: config.releasesMayUseSchedulers,
      resourceClaims: config.releasesMayUseResourceClaims,
      extendedResources: config.releasesMayUseExtendedResources,
      annotations: config.releasesMayUseAnnotations,
      labels: config.releasesMayUseLabels,
    },
    maxPods: config.releasesMaxPods,
    podSecurity: config.releasesPodSecurity,
  };
  return new ClusterHands({
    ...{ client, version, access },
    clientFor: (token) => client.withToken(token),
    grantsNamespace,
    rules,
    recreates: config.releasesRecreate,
    ...(releasesSecrets && { secrets: { client, releasesNamespace } }),
    fence,
    clock,
  });
}

function contentsOf({ client, config: { grantsNamespace: namespace } }: OperatorParts): ReleaseContents {
  return new ReleaseContents((name, signal) =>
    client.get<ReleaseContent>(releaseContents, { namespace, name }, signal),
  );
}

function driftPorts(
  { client, caches, fence, metrics, serverClock }: OperatorParts,
  contents: ReleaseContents,
): DriftPorts {
  const looks = new MemberLooks(client.exchange);
  return {
    rollout: (key) => caches.rollouts?.store.get(key),
    rolloutsOf: (deploymentId) => caches.rolloutsOf(deploymentId),
    accepted: (deploymentId) => caches.acceptedOf(deploymentId),
    contentOf: (content, deploymentId, signal) => contents.read(content, deploymentId, false, signal),
    looksAt: (objects, deploymentId, signal) => looks.of(objects, deploymentId, signal),
    writeDrift: ({ metadata: { name, namespace, resourceVersion } }, { drift, conditions }, signal) => {
      const body = { metadata: { resourceVersion }, status: { drift: drift ?? null, conditions } };
      const key = { name, ...(namespace !== undefined && { namespace }) };
      return client.patch<Rollout>(rolloutKind, key, { type: "merge", body }, { subresource: "status" }, signal);
    },
    fence,
    redact: (text) => redactText(text, metrics.redacted),
    now: () => serverClock.wallNow(),
  };
}

function rolloutPorts(
  parts: OperatorParts,
  hands: RolloutHands,
  running: RunningRollouts,
  contents: ReleaseContents,
): RolloutPorts {
  const { client, caches, admission, rights, config, serverClock: clock, fence, publisher, metrics } = parts;
  return {
    ...{ clock, fence, hands, running, contents },
    named: config.deployments,
    rollout: (key) => caches.rollouts?.store.get(key),
    surroundings: (rollout) => caches.rolloutSurroundings(rollout),
    liveSurroundings: (rollout, signal) => caches.liveRolloutSurroundings(rollout, signal),
    obstacle: () => {
      // Where approvers lend, none of them could: a rollout's account does not exist before it is needed.
      if (config.lendingMode !== "operator") return "releases need lending.mode=operator";
      const policies = releasePolicyNames(config.releasesSecrets);
      return admission.obstacleOf(policies) ?? rights.obstacle ?? rights.missingForReleases;
    },
    windowState,
    places: ({ spec }) => caches.rolloutPlaces(spec.deploymentId),
    writeRollout: (rollout, status, signal) =>
      writeStatus<Rollout, RolloutStatus>(client, rolloutKind, rollout, withRemovals(rollout, status), signal),
    redact: (text) => redactText(text, metrics.redacted),
    metrics: parts.rolloutMetrics,
    publisher: {
      rolloutBecame(rollout, event, message) {
        const { deploymentId } = rollout.spec;
        const deployment = caches.deployments.store.list().find(({ spec }) => spec.deploymentId === deploymentId);
        publisher.rolloutBecame(rollout, event, message, deployment);
      },
    },
  };
}

/** A merge leaves a field that is left out as it was: one that goes is sent as null. */
function withRemovals({ status: before = {} }: Rollout, status: RolloutStatus): RolloutStatus {
  const gone = Object.keys(before).filter((field) => !(field in status));
  return { ...status, ...Object.fromEntries(gone.map((field) => [field, null])) };
}
