import { randomUUID } from "node:crypto";
import { sleep } from "../../../base/clock.ts";
import type { AccessRequestWithApproval } from "../../../contract/access-requests/access-requests.ts";
import type { DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import type { Deployment } from "../../../contract/deployments/deployment.ts";
import type { RelayTicket } from "../../../debug-link/relay-loop.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { escaped } from "../../kernel/output.ts";
import { toldOf } from "../access.ts";
import type { CallRoute, Surroundings } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { forget, type Kept } from "./kept-session.ts";

/** Between two looks at a request: soon after a change, then twice as long each time, for a customer who may take an hour. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;
/** The agent brings a request into the cluster within seconds; then there is a line to approve it with. */
const LINE_WITHIN_MS = 20_000;

/**
 * Asks the customer: an access request with one line that names the key. The customer approves that key, and a session
 * for another one does not open.
 *
 * @returns the request's id
 */
export async function askCustomer(
  { deploymentId, namespace, mode, minutes, reason, ports, selector, key }: Kept,
  acceptStale: boolean,
  call: CallRoute,
  signal: AbortSignal,
): Promise<string> {
  const params = { namespace, mode, clientKey: key.pin, ...(ports && { ports }), ...(selector && { selector }) };
  const summary = `${mode} in namespace ${namespace} for ${minutes} min`;
  const body = {
    deploymentId,
    remediationPlanId: `cli-${randomUUID()}`,
    title: `Debug session: ${summary}`,
    reason,
    commands: [{ command: `debug/${mode}`, summary, params }],
    maxMinutes: minutes,
    debug: true,
  };
  const created = (await call("accessRequests", "create", { params: {}, query: {}, body }, signal)) as {
    readonly id: string;
  };
  const { id } = created;
  const queue = { params: { id }, query: {}, body: acceptStale ? { acceptStale } : undefined };
  await call("accessRequests", "queue", queue, signal);
  return id;
}

/**
 * Follows a request on standard error until the customer has approved it, or, without `wait`, until there is a line for
 * the customer.
 *
 * @returns whether it is approved
 * @throws FriendlyError when it was rejected or has expired
 */
export async function followed(
  id: string,
  wait: boolean,
  { env, clock, error }: Pick<Surroundings, "env" | "clock" | "error">,
  call: CallRoute,
  signal: AbortSignal,
): Promise<boolean> {
  const startedMs = clock.monotonicMs();
  let told = "";
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    const values = { params: { id }, query: {}, body: undefined };
    const now = (await call("accessRequests", "get", values, signal)) as AccessRequestWithApproval;
    const words = await toldOf(now, call, signal);
    if (words !== told) {
      error(`${words}\n`);
      told = words;
      pauseMs = FIRST_PAUSE_MS;
    }
    if (now.status === "customer-approved") return true;
    if (now.status === "rejected" || now.status === "expired") {
      await forget(env, id);
      throw new FriendlyError(`${id} is ${now.status}: no debug session`, { exitCode: EXIT_CODES.notRun.code });
    }
    const isTold = now.kubectlApprove !== null || clock.monotonicMs() - startedMs > LINE_WITHIN_MS;
    if (!wait && isTold) return false;
    await sleep(clock, pauseMs, signal);
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
  }
}

/** What the customer's cluster says of debug sessions, when this mode is not on in it; an approval would be for nothing. */
export async function modeIsOff(
  { deploymentId, mode }: Pick<Kept, "deploymentId" | "mode">,
  call: CallRoute,
  signal: AbortSignal,
): Promise<string | undefined> {
  const values = { params: { id: deploymentId }, query: {}, body: undefined };
  const { capabilities } = (await call("deployments", "get", values, signal)) as Deployment;
  const debug = capabilities?.find(({ key }) => key === "debug");
  const detail = debug?.detail ?? "";
  if (debug === undefined || (debug.state === "granted" && new RegExp(`[:,] ${mode}(,|$)`).test(detail)))
    return undefined;
  return `the customer's cluster does not open ${mode} now (debug ${debug.state}${detail && `, ${escaped(detail, "")}`}): ask them to switch it on before they approve`;
}

/** Asks the platform for the session itself. `requestId` undefined: the workspace needs no approval. */
export async function askPlatform(
  { deploymentId, namespace, mode, minutes, reason, ports, selector, key }: Kept,
  requestId: string | undefined,
  call: CallRoute,
  signal: AbortSignal,
): Promise<{ readonly session: DebugSession; readonly ticket: RelayTicket }> {
  const body = {
    ...{ reason, mode, namespace, minutes, clientKey: key.pin },
    ...(ports && { ports }),
    ...(selector && { selector }),
    ...(requestId !== undefined && { accessRequestId: requestId }),
  };
  const values = { params: { id: deploymentId }, query: {}, body };
  const answer = (await call("debugRelay", "request", values, signal)) as {
    readonly session: DebugSession;
    readonly attachUrl: string;
    readonly ticket: string;
  };
  return { session: answer.session, ticket: { url: answer.attachUrl, ticket: answer.ticket } };
}

/** Who let the engineer in, for the words on attach. */
export async function approvedBy(session: DebugSession, call: CallRoute, signal: AbortSignal): Promise<string> {
  const id = session.access?.accessRequestId ?? null;
  if (id === null) return "nobody: the workspace and the customer's policy allow it";
  const values = { params: { id }, query: {}, body: undefined };
  const { decision } = (await call("accessRequests", "get", values, signal)) as AccessRequestWithApproval;
  return decision === null ? "unknown" : `${decision.by ?? "unknown"} (${decision.identity})`;
}
