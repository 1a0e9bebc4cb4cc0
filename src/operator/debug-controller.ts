import { accessGrants } from "../crds/kinds/access-grant.ts";
import { debugSessions } from "../crds/kinds/debug-session.ts";
import { DEBUG_VALIDATING_POLICIES } from "../crds/manifests/admission/debug-admission.ts";
import { writeStatus } from "../kube/client/status-writer.ts";
import type { Controller } from "../kube/controller/controller.ts";
import { notifiedBy, reads, watches } from "../kube/controller/sources.ts";
import { SessionAccess } from "./access/session-access.ts";
import { SessionPlaces } from "./debug-sessions/session-places.ts";
import { reconcileSession, type SessionPorts } from "./debug-sessions/session-reconciler.ts";
import { sweepSessions } from "./debug-sessions/session-sweep.ts";
import { TunnelSilence } from "./debug-sessions/tunnel-silence.ts";
import { controller, type OperatorParts } from "./operator-parts.ts";

export interface DebugSessionParts {
  readonly controller: Controller;
  readonly sweep: (signal: AbortSignal) => Promise<void>;
}

/** Undefined where debug sessions are switched off. */
export function debugSessionParts(parts: OperatorParts): DebugSessionParts | undefined {
  const { client, caches, admission, rights, config, serverClock: clock, log, fence, metrics } = parts;
  const { sessions } = caches;
  if (sessions === undefined) return undefined;
  const { debugNamespace, roleKind } = config;
  const access = new SessionAccess(client, { debugNamespace, roleKind });
  const sweeping = { client, access, fence, clock, log, metrics };
  const silence = new TunnelSilence(clock);
  const ports = sessionPorts(parts, access, silence);
  sessions.onChange(({ type, object }) => {
    if (type === "deleted" || object.status?.state !== "Open") silence.forget(object.metadata.uid);
  });
  return {
    sweep: (signal) =>
      sweepSessions(
        { ...sweeping, sessions: () => sessions.store.values(), places: () => caches.sessionPlaces() },
        signal,
      ),
    controller: controller("debugsession", parts, (key, context) => reconcileSession(key, ports, context), [
      watches(sessions),
      watches(caches.grants, ({ metadata }) => caches.openSessionKeys({ grantName: metadata.name })),
      watches(caches.policies, () => caches.openSessionKeys()),
      watches(caches.deployments, ({ spec }) => caches.openSessionKeys({ deploymentId: spec.deploymentId })),
      reads(caches.grants),
      notifiedBy(admission, () => caches.openSessionKeys()),
      notifiedBy(rights.watch, () => caches.openSessionKeys()),
      ...(rights.debugWatch ? [notifiedBy(rights.debugWatch, () => caches.openSessionKeys())] : []),
    ]),
  };
}

function sessionPorts(parts: OperatorParts, access: SessionAccess, silence: TunnelSilence): SessionPorts {
  const {
    client,
    caches,
    admission,
    rights,
    config,
    serverClock: clock,
    fence,
    publisher,
    debugMetrics,
    plugins,
  } = parts;
  const { debugModes: modes, debugMaxTtlMs: maxTtlMs, debugMaxConcurrent: maxConcurrent, lendingMode } = config;
  return {
    clock,
    fence,
    session: (key) => caches.sessions?.store.get(key),
    cachedFacts: (session) => caches.facts(session),
    liveFacts: (session, signal) => caches.liveFacts(session, signal),
    places: new SessionPlaces(() => caches.sessions?.store.values() ?? []),
    silence,
    named: config.deployments,
    commands: plugins.commands,
    limits: { modes, maxTtlMs, maxConcurrent, lendingMode },
    missing: (session) => rights.missingForSession(session),
    obstacle: () => admission.obstacleOf(DEBUG_VALIDATING_POLICIES) ?? rights.obstacle,
    writeSession: async (session, status, signal) => {
      // The tunnel's part is its own: a merge that leaves it out leaves it as it is.
      const { tunnel: _theirs, ...ours } = status;
      const { tunnel: _kept, ...before } = session.status ?? {};
      return writeStatus(client, debugSessions, { ...session, status: before }, ours, signal);
    },
    writeGrant: (grant, status, signal) => writeStatus(client, accessGrants, grant, status, signal),
    deleteSession: async ({ metadata: { name, namespace, uid } }, signal) => {
      const key = { name, ...(namespace !== undefined && { namespace }) };
      await client.delete(debugSessions, key, { preconditions: { uid } }, signal);
    },
    access,
    metrics: debugMetrics,
    publisher,
  };
}
