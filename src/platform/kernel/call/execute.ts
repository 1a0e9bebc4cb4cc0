import type { KeyObject } from "node:crypto";
import type { Clock } from "../../../base/clock.ts";
import type { ResponseOf, Route } from "../../../contract/wire/route.ts";
import type { Db } from "../../database/db.ts";
import type { Budgets } from "../budgets/budgets.ts";
import { PlatformError, toBody } from "../errors.ts";
import { insertBudgetedEvent, insertFeedTopic } from "../events/outbox.ts";
import type { Waker } from "../events/waker.ts";
import type { PlatformMetrics } from "../metrics/metrics.ts";
import { open, seal } from "../sealed.ts";
import { type Caller, callerKey, type Principal } from "../tenancy/principal.ts";
import { type Call, type Hooks, Reply } from "./call.ts";
import type { CallConfig } from "./call-config.ts";
import type { Credential } from "./credential.ts";
import { answerProblem, type Endpoint, type ParsedRequest } from "./endpoint.ts";
import { claim, remember, type Slot, type StoredAnswer, slotOf, stillRunning } from "./idempotency.ts";
import type { Lane } from "./lane.ts";
import { bindingOf, type PageRequest, pageRequest } from "./page.ts";
import { inTransaction } from "./transaction.ts";

/** What all requests share and no request changes. */
export interface Engine {
  readonly db: Db;
  readonly clock: Clock;
  readonly config: CallConfig;
  readonly budgets: Budgets;
  /** Signs the cursors of lists. */
  readonly cursorKey: KeyObject;
  readonly waker: Waker;
  readonly hooks: Hooks;
  readonly metrics: PlatformMetrics;
  /** Notifies the other replicas. Part of the transaction, so they are notified after the commit. */
  announce(db: Db, managerId: string): Promise<void>;
  /** Where transactions wait after a serialisation conflict: one queue for each workspace. */
  readonly retries: Lane;
  /** Idempotent calls that run in this process now. */
  readonly runningSlots: Set<string>;
}

export interface CheckedRequest {
  readonly endpoint: Endpoint;
  readonly parsed: ParsedRequest;
  readonly principal: Caller;
  readonly credential: Credential;
  readonly requestId: string;
  readonly idempotencyKey: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly now: Date;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Steps 7 and 8 of a request: runs the handler with its transaction, its events and its feed topics. Either all of it
 * is stored or nothing.
 */
export async function execute(engine: Engine, request: CheckedRequest): Promise<Answer> {
  const { endpoint } = request;
  if (endpoint.route.longPoll === true || endpoint.route.callsOut === true) {
    const { answer, wakes } = await attempt(engine, request, engine.db);
    for (const sleeper of wakes) engine.waker.wake(sleeper);
    return answer;
  }
  const { repeat } = endpoint.route;
  if (repeat !== "key" || request.idempotencyKey === undefined) return transact(engine, request, undefined);
  const { params, query, body } = request.parsed;
  // The role decides what an answer may show. After a change of role, the same idempotency key is a different call.
  const role = request.principal.kind === "person" ? null : request.principal.role;
  const slot = slotOf(callerKey(request.principal), endpoint.name, request.idempotencyKey, [role, params, query, body]);
  return once(engine, request, slot);
}

async function once(engine: Engine, request: CheckedRequest, slot: Slot): Promise<Answer> {
  const name = JSON.stringify([slot.principalId, slot.route, slot.key]);
  if (engine.runningSlots.has(name)) throw stillRunning();
  engine.runningSlots.add(name);
  try {
    return await transact(engine, request, slot);
  } catch (error) {
    const refused = error instanceof PlatformError && error.spec.status < 500 && !error.spec.retryable;
    // A refusal is an answer to replay too. Its transaction was rolled back, so the refusal is stored on its own.
    if (refused && error.code !== "IDEMPOTENCY_KEY_REUSED") {
      await remember(engine.db, slot, error.spec.status, toBody(error, request.requestId), request.now);
    }
    throw error;
  } finally {
    engine.runningSlots.delete(name);
  }
}

async function transact(engine: Engine, request: CheckedRequest, slot: Slot | undefined): Promise<Answer> {
  const { endpoint, principal, now, signal } = request;
  const options = {
    readOnly: endpoint.route.method === "GET",
    signal,
    line: { lane: engine.retries, key: principal.kind === "person" ? principal.id : principal.workspaceId },
    onRetry: () => engine.metrics.transactionRetried(),
  };
  let onRefusal: Refused | undefined;
  const { answer, wakes } = await inTransaction(engine.db, options, async (db) => {
    onRefusal = undefined;
    const stored = slot && (await claim(db, slot, now));
    if (stored !== undefined) return { answer: replayed(opened(engine, stored), request.requestId), wakes: [] };
    const outcome = await attempt(engine, request, db, (work) => {
      onRefusal = work;
    });
    if (slot !== undefined) {
      await remember(db, slot, outcome.answer.status, toRemember(engine, endpoint.route, outcome.answer.body), now);
    }
    for (const managerId of outcome.wakes) await engine.announce(db, managerId);
    return outcome;
  }).catch(async (error: unknown) => {
    const isRefusal = error instanceof PlatformError && error.spec.status < 500;
    // The caller gets its refusal also when what it costs cannot be stored.
    if (isRefusal && onRefusal !== undefined) await inTransaction(engine.db, options, onRefusal).catch(() => undefined);
    throw error;
  });
  for (const sleeper of wakes) engine.waker.wake(sleeper);
  return answer;
}

type Refused = Parameters<Call["onRefusal"]>[0];

/** The body to keep for a replay. Undefined when the answer shows a secret, because a secret is shown only once. */
function toRemember({ config }: Engine, { secret, sealed }: Route, body: unknown): unknown {
  if (secret === true) return undefined;
  return sealed === true ? { [SEALED]: seal(config.sealingKey, JSON.stringify(body)) } : (body ?? {});
}

function opened({ config }: Engine, { status, body }: StoredAnswer): StoredAnswer {
  const sealed = typeof body === "object" && body !== null && SEALED in body ? body[SEALED] : undefined;
  return { status, body: typeof sealed === "string" ? JSON.parse(open(config.sealingKey, sealed)) : body };
}

/** Marks a sealed body. No answer has a field of this name. */
const SEALED = "$sealed";

function replayed({ status, body }: StoredAnswer, requestId: string): Answer {
  const isError = status >= 400 && typeof body === "object" && body !== null;
  const headers = { "idempotency-replayed": "true" };
  if (status === 204) return { status, body: undefined, headers };
  return { status, body: isError ? { ...body, requestId } : body, headers };
}

/**
 * Runs the handler once. The engine may repeat it in a new transaction, so it leaves results only in `db` and `wakes`.
 */
async function attempt(
  engine: Engine,
  request: CheckedRequest,
  db: Db,
  onRefusal: (work: Refused) => void = () => undefined,
): Promise<{ answer: Answer; wakes: string[] }> {
  const { endpoint, principal, now, parsed } = request;
  const wakes = new Set<string>();
  const workspaceId = principal.kind === "person" ? undefined : principal.workspaceId;
  const call: Call<Route> = {
    route: endpoint.route,
    params: parsed.params as Call<Route>["params"],
    query: parsed.query as Call<Route>["query"],
    body: parsed.body as Call<Route>["body"],
    // A `person` reaches only routes that need no workspace, and the handlers of those routes are typed for it.
    principal: principal as Principal,
    workspaceId: workspaceId as string,
    db,
    now,
    requestId: request.requestId,
    ifNoneMatch: request.ifNoneMatch,
    signal: request.signal,
    config: engine.config,
    budgets: engine.budgets,
    page: pageOf(engine, request, workspaceId ?? principal.id),
    waker: engine.waker,
    async emit(event) {
      await insertBudgetedEvent(db, event, now, { budgets: engine.budgets, principal });
    },
    async raise(topic, deploymentId, managerId) {
      const woken = await insertFeedTopic(db, topic, deploymentId, managerId);
      if (woken !== undefined) wakes.add(woken);
    },
    hooks: engine.hooks,
    wake: (sleeper) => void wakes.add(sleeper),
    onRefusal,
    proof: request.credential.proof,
    credentialLives: () => request.credential.lives(engine.clock.wallNow()),
  };
  const answer = toAnswer(endpoint, await endpoint.handler(call));
  return { answer, wakes: [...wakes] };
}

function pageOf({ cursorKey }: Engine, { endpoint, parsed }: CheckedRequest, owner: string): PageRequest {
  const { limit = 20, cursor } = parsed.query as { limit?: number; cursor?: string };
  const binding = bindingOf(cursorKey, endpoint.name, owner, parsed.query);
  return pageRequest(limit, endpoint.route.paginated === true ? cursor : undefined, binding);
}

/**
 * @throws Error when the handler's answer breaks the contract. It is thrown before the commit, so that the change rolls
 * back.
 */
function toAnswer(endpoint: Endpoint, result: ResponseOf<Route> | Reply<unknown>): Answer {
  const { status, body, headers } =
    result instanceof Reply ? result : new Reply<unknown>(endpoint.route.success, result, {});
  const problem = answerProblem(endpoint, status, body);
  if (problem !== undefined) throw new Error(`${endpoint.name} answered outside its contract: ${problem}`);
  return { status, body, headers };
}
