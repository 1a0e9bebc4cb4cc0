import { debugAccount } from "../../crds/group.ts";
import type { NamedDeployments } from "../../crds/kinds/accepted-namespaces.ts";
import type { AccessGrant, AccessGrantStatus } from "../../crds/kinds/access-grant.ts";
import type { DebugCloseReason, DebugSession } from "../../crds/kinds/debug-session.ts";
import type { ManagedDeployment } from "../../crds/kinds/managed-deployment.ts";
import type { OperationPolicy } from "../../crds/kinds/operation-policy.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { ReconcileContext, Result } from "../../kube/controller/controller.ts";
import type { SessionAccess } from "../access/session-access.ts";
import { claimDigest } from "../gate/gate.ts";
import { mergePolicies } from "../gate/policy.ts";
import {
  type DebugLimits,
  endOf,
  OPEN_WITHIN_MS,
  type OpenVerdict,
  type SessionFacts,
  sessionVerdict,
  untilOf,
  type WaitVerdict,
} from "./session-gate.ts";
import type { SessionPlaces } from "./session-places.ts";
import {
  closed,
  closing,
  conditionOf,
  notReady,
  observed,
  opened,
  opening,
  refused,
  tornDown,
  waiting,
} from "./session-status.ts";
import { type SessionWriterPorts, write } from "./session-writer.ts";
import type { TunnelSilence } from "./tunnel-silence.ts";

/** What the gate reads besides the session. */
export interface GateFacts {
  readonly grant: AccessGrant | undefined;
  readonly policies: readonly Pick<OperationPolicy, "spec">[];
  readonly deployments: readonly Pick<ManagedDeployment, "spec" | "status">[];
}

/** All the I/O of this reconciler, as functions: a test passes ones that record or fail. */
export interface SessionPorts extends SessionWriterPorts {
  /** From the cache. */
  readonly session: (key: string) => DebugSession | undefined;
  readonly cachedFacts: (session: DebugSession) => GateFacts;
  /** From the API server itself: before a refusal, which is final, and after a lost race. */
  readonly liveFacts: (session: DebugSession, signal: AbortSignal) => Promise<GateFacts>;
  readonly places: Pick<SessionPlaces, "others" | "take">;
  readonly silence: Pick<TunnelSilence, "leftMs">;
  readonly named: NamedDeployments;
  readonly commands: CommandTable;
  readonly limits: DebugLimits;
  /** Rights of the operator's own that this session needs and that are missing, in words. */
  readonly missing: (session: DebugSession) => string | undefined;
  /** Why nothing may be opened now: a right of the operator's own or a policy is missing. */
  readonly obstacle: () => string | undefined;
  /** With the resourceVersion that was read. */
  readonly writeGrant: (grant: AccessGrant, status: AccessGrantStatus, signal: AbortSignal) => Promise<AccessGrant>;
  readonly deleteSession: (session: DebugSession, signal: AbortSignal) => Promise<void>;
  readonly access: Pick<SessionAccess, "open" | "close">;
}

const AFTER_CONFLICT_MS = 20;
const AFTER_WAIT_MS = 1_000;
const AFTER_OBSTACLE_MS = 5_000;
/** For the tunnel's last word, once the rights are gone. */
const LAST_WORD_MS = 10_000;
/** A closed session stays to be read for this long; the platform and the audit file keep its record longer. */
export const KEPT_MS = 7 * 24 * 3_600_000;
const LOOK_AT_MOST_MS = 24 * 3_600_000;

/**
 * One session: gate → claim the plan's line → Opening → account and binding → Open, and back: Closing → rights gone →
 * Closed. Each step is one write, so a crash between two is resumed by the next process where it stopped.
 */
export async function reconcileSession(key: string, ports: SessionPorts, context: ReconcileContext): Promise<Result> {
  const session = ports.session(key);
  if (session === undefined) return undefined;
  try {
    switch (session.status?.state ?? "Pending") {
      case "Pending":
        return await decide(session, ports, context);
      case "Opening":
        return await open(session, ports, context);
      case "Open":
        return await watch(session, ports, context);
      case "Closing":
        return await close(session, ports, context);
      default:
        return await forget(session, ports, context);
    }
  } catch (error) {
    if (!(error instanceof ApiError && error.isConflict)) throw error;
    // The tunnel writes the same status, and our cache lags: the next look has the newer version.
    return { requeueAfterMs: AFTER_CONFLICT_MS };
  }
}

function factsOf(session: DebugSession, facts: GateFacts, ports: SessionPorts): SessionFacts {
  const { policies, ...rest } = facts;
  const { named, limits } = ports;
  const now = ports.clock.wallNow();
  return {
    ...rest,
    session,
    policy: mergePolicies(policies),
    commands: ports.commands,
    named,
    limits,
    others: ports.places.others(session),
    now,
  };
}

async function decide(session: DebugSession, ports: SessionPorts, context: ReconcileContext): Promise<Result> {
  const cached = ports.cachedFacts(session);
  let facts = cached;
  let verdict = sessionVerdict(factsOf(session, cached, ports));
  // A refusal is final and caches lag: it is judged again by what the API server says now.
  if (verdict.do === "refuse") {
    facts = await ports.liveFacts(session, context.signal);
    verdict = sessionVerdict(factsOf(session, facts, ports));
  }
  const now = ports.clock.wallNow();
  if (verdict.do === "refuse") {
    await write(session, refused(session, verdict.reason, verdict.message, now), ports, context);
    return { requeueAfterMs: AFTER_WAIT_MS };
  }
  // Before the claim: a line that could not be opened is not used up.
  const obstacle = verdict.do === "open" ? (ports.obstacle() ?? ports.missing(session)) : undefined;
  if (verdict.do === "wait" || obstacle !== undefined) {
    return await waits(session, verdict, obstacle, ports, context);
  }
  ports.places.take(session);
  await claim(session, facts.grant, verdict, ports, context);
  // Goes on with what was stored: the cache would have it only later, and an engineer waits.
  return open(
    await write(session, opening(session, verdict.reason, ports.clock.wallNow()), ports, context),
    ports,
    context,
  );
}

async function waits(
  session: DebugSession,
  verdict: OpenVerdict | WaitVerdict,
  obstacle: string | undefined,
  ports: SessionPorts,
  context: ReconcileContext,
): Promise<Result> {
  const now = ports.clock.wallNow();
  const said = verdict.do === "wait" ? verdict : ({ reason: "NotOpenedInTime", message: obstacle ?? "" } as const);
  await write(session, waiting(session, said, ports.missing(session), now), ports, context);
  if (obstacle !== undefined) return { requeueAfterMs: AFTER_OBSTACLE_MS };
  return {
    requeueAfterMs: Math.min((verdict.do === "wait" ? verdict.againMs : undefined) ?? AFTER_WAIT_MS, OPEN_WITHIN_MS),
  };
}

/** A lost race is a 409: the plan has moved on, and the session is judged again. */
async function claim(
  session: DebugSession,
  grant: AccessGrant | undefined,
  { granted }: OpenVerdict,
  ports: SessionPorts,
  { signal }: ReconcileContext,
): Promise<void> {
  if (granted === undefined || granted.claimed || grant === undefined) return;
  const { index } = granted;
  const line = {
    ...{ index, state: "Starting" as const, commandId: session.spec.sessionId },
    digest: claimDigest(session.metadata.uid),
  };
  const others = (grant.status?.commands ?? []).filter((each) => each.index !== index);
  const commands = [...others, line].sort((one, other) => one.index - other.index);
  ports.fence();
  await ports.writeGrant(grant, { ...grant.status, commands }, signal);
}

async function open(session: DebugSession, ports: SessionPorts, context: ReconcileContext): Promise<Result> {
  let facts = factsOf(session, ports.cachedFacts(session), ports);
  let end = endOf(facts);
  // The line is used up, and the cache may not have the grant yet that the gate saw: the API server is asked first.
  if (end !== undefined) {
    facts = factsOf(session, await ports.liveFacts(session, context.signal), ports);
    end = endOf(facts);
  }
  const authorizedAt = new Date(
    conditionOf(session, "Authorized")?.lastTransitionTime ?? session.metadata.creationTimestamp,
  );
  const isLate = !(facts.now.getTime() - authorizedAt.getTime() < OPEN_WITHIN_MS);
  if (end !== undefined || isLate) return await ending(session, end ?? "refused", ports, context);
  const until = untilOf(facts, authorizedAt);
  try {
    ports.fence();
    await ports.access.open(session, until, context.signal);
  } catch (error) {
    if (!(error instanceof ApiError && error.isForbidden)) throw error;
    // A role or a right was taken away. It is tried again until its minute is over.
    await write(session, notReady(session, error.message, facts.now), ports, context);
    return { requeueAfterMs: AFTER_WAIT_MS };
  }
  const account = debugAccount(session.metadata.uid);
  await write(session, opened(session, account, until, ports.clock.wallNow()), ports, context);
  return undefined;
}

async function watch(session: DebugSession, ports: SessionPorts, context: ReconcileContext): Promise<Result> {
  const facts = factsOf(session, ports.cachedFacts(session), ports);
  const end = endOf(facts);
  if (end !== undefined) return await ending(session, end, ports, context);
  const silentInMs = ports.silence.leftMs(session);
  const isAway = silentInMs === 0;
  await write(session, observed(session, isAway, ports.missing(session), facts.now), ports, context);
  const until = Date.parse(session.status?.until ?? session.spec.expiresAt);
  const leftMs = Math.min(Math.max(until - facts.now.getTime(), 1), LOOK_AT_MOST_MS);
  // Once it counts as away, its next word brings the next look.
  return { requeueAfterMs: isAway ? leftMs : Math.min(leftMs, silentInMs ?? leftMs) };
}

/** Closing is written first: the tunnel cuts its sockets when it sees it, and an open stream outlives its rights. */
async function ending(
  session: DebugSession,
  reason: DebugCloseReason,
  ports: SessionPorts,
  context: ReconcileContext,
): Promise<Result> {
  await write(session, closing(session, reason, ports.clock.wallNow()), ports, context);
  return undefined;
}

/** Bindings, then the account, then the word that it is over. */
async function close(session: DebugSession, ports: SessionPorts, context: ReconcileContext): Promise<Result> {
  const now = ports.clock.wallNow();
  const torn = conditionOf(session, "AccessReady");
  if (torn?.reason !== "TornDown") {
    ports.fence();
    await ports.access.close(session, context.signal);
    await write(session, tornDown(session, now), ports, context);
    return { requeueAfterMs: 1 };
  }
  const { tunnel } = session.status ?? {};
  const leftMs = Date.parse(torn.lastTransitionTime) + LAST_WORD_MS - now.getTime();
  if (tunnel !== undefined && tunnel.closed === undefined && leftMs > 0) return { requeueAfterMs: leftMs };
  await write(session, closed(session, now), ports, context);
  return undefined;
}

async function forget(session: DebugSession, ports: SessionPorts, { signal, log }: ReconcileContext): Promise<Result> {
  const closedAt = Date.parse(session.status?.closedAt ?? session.metadata.creationTimestamp);
  const leftMs = closedAt + KEPT_MS - ports.clock.wallNow().getTime();
  if (leftMs > 0) return { requeueAfterMs: Math.min(leftMs, LOOK_AT_MOST_MS) };
  ports.fence();
  await ports.deleteSession(session, signal);
  log.info({}, "closed debug session deleted");
  return undefined;
}
