import type { IncomingMessage, ServerResponse } from "node:http";
import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import { type Answer, approvalLine, isSettled, stateOf } from "../joins/answer.ts";
import { readAsk } from "../joins/ask.ts";
import type { Joins } from "../joins/joins.ts";
import type { JoinMetrics } from "../kernel/metrics.ts";
import { Refusal } from "../kernel/refusal.ts";
import { bodyOf, send, sendBody } from "./answers.ts";
import type { Visit } from "./join-server.ts";
import { type LeaveRoutesOptions, leaveRoutes } from "./leave-routes.ts";
import type { Waiting } from "./waiting.ts";

const MAX_BODY = 16_384;
const POLL_MS = 30_000;
const TOKEN = /^Join ([!-~]{8,128})$/;
const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface RoutesOptions extends LeaveRoutesOptions {
  readonly joins: Pick<Joins, "ask">;
  /** From the cache. */
  readonly joinOf: (uid: string) => MachineJoin | undefined;
  readonly answer: (join: MachineJoin) => Answer;
  readonly waiting: Waiting;
  /** What machines run, by the path's last part. */
  readonly scripts: Readonly<Record<"script" | "leave-script", string>>;
  readonly version: string;
  /** Of the API server; empty while it is not known. */
  readonly serverVersion: () => string;
  readonly metrics: Pick<JoinMetrics, "joined" | "took">;
}

/** Of an address that is none, such as `//`. */
const NOWHERE = { pathname: "", searchParams: new URLSearchParams() };

/**
 * What the join server answers. Only `POST /v1/join` takes a token; a poll needs the unguessable uid that it gave, and what
 * is under `/v1/leave` a node's certificate.
 */
export function joinRoutes(options: RoutesOptions) {
  return async (request: IncomingMessage, response: ServerResponse, visit: Visit): Promise<void> => {
    const { pathname, searchParams } = URL.parse(request.url ?? "", "https://join.invalid") ?? NOWHERE;
    if (pathname === "/v1/join") return join(options, request, response, visit);
    if (await leaveRoutes(options, pathname, request, response, visit)) return;
    const uid = /^\/v1\/join\/([^/]+)$/.exec(pathname)?.[1];
    if (options.leaves === undefined && pathname.startsWith("/v1/leave")) {
      throw new Refusal(404, "LEAVE_OFF", "not-found", "the customer lets no machine leave by itself: ask for a drain");
    }
    const isKnown = uid !== undefined || pathname === "/v1/hello" || isScript(pathname);
    if (!isKnown) throw new Refusal(404, "NOT_FOUND", "not-found", "there is no such page");
    if (request.method !== "GET") throw new Refusal(405, "METHOD_NOT_ALLOWED", "not-found", "this page is read only");
    if (uid !== undefined) return poll(options, { uid, seen: searchParams.get("seen") }, request, response, visit);
    if (isScript(pathname)) {
      const script = options.scripts[pathname === "/v1/script" ? "script" : "leave-script"];
      return sendBody(response, 200, { "content-type": "text/x-shellscript; charset=utf-8" }, script);
    }
    const { version, serverVersion, clock } = options;
    const now = clock.wallNow();
    // The clock of the cluster, which the machine compares with its own.
    response.setHeader("date", now.toUTCString());
    const seconds = Math.floor(now.getTime() / 1000);
    send(request, response, 200, { version, serverVersion: serverVersion(), now: seconds });
  };
}

function isScript(pathname: string): boolean {
  return pathname === "/v1/script" || pathname === "/v1/leave-script";
}

async function join(
  { joins }: RoutesOptions,
  request: IncomingMessage,
  response: ServerResponse,
  { address, limits, signal }: Visit,
): Promise<void> {
  if (request.method !== "POST") throw new Refusal(405, "METHOD_NOT_ALLOWED", "not-found", "machines are sent here");
  limits.beforeToken(address);
  try {
    const token = TOKEN.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined)
      throw new Refusal(401, "NO_TOKEN", "bad-token", "send the header Authorization: Join TOKEN");
    const ask = readAsk(await bodyOf(request, MAX_BODY));
    const made = await joins.ask(ask, token, signal);
    const { uid, name } = made.metadata;
    send(request, response, 202, { uid, name, pollAfter: 0, state: stateOf(made), approve: approvalLine(made) });
  } catch (error) {
    if (error instanceof Refusal && error.reason === "bad-token") limits.badToken(address);
    throw error;
  }
}

async function poll(
  options: RoutesOptions,
  { uid, seen }: { readonly uid: string; readonly seen: string | null },
  request: IncomingMessage,
  response: ServerResponse,
  { signal, leave }: Visit,
): Promise<void> {
  const before = find(options, uid);
  const isNews = isSettled(before) || seen !== stateOf(before);
  if (!isNews) {
    leave();
    await options.waiting.wait(uid, POLL_MS, signal);
    if (response.destroyed) return;
  }
  const after = find(options, uid);
  const state = stateOf(after);
  const answer = options.answer(after);
  // A machine that has waited, and not one that asks once more.
  const hasWaited = seen !== null && seen !== state;
  if (hasWaited && state === "Issued") {
    options.metrics.joined("issued");
    const tookMs = options.clock.wallNow().getTime() - new Date(after.metadata.creationTimestamp).getTime();
    options.metrics.took(Math.max(tookMs, 0) / 1000);
  }
  if (hasWaited && state === "Denied") options.metrics.joined("denied");
  send(request, response, 200, answer);
}

function find({ joinOf }: RoutesOptions, uid: string): MachineJoin {
  const found = UID.test(uid) ? joinOf(uid) : undefined;
  // Just made, it may not be in the cache yet: the machine asks again.
  if (found === undefined) throw new Refusal(404, "NOT_FOUND", "not-found", "there is no such join", 1);
  return found;
}
