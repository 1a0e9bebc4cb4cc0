import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../base/clock.ts";
import type { Leaves } from "../joins/leaves.ts";
import { Refusal } from "../kernel/refusal.ts";
import { bodyOf, send } from "./answers.ts";
import type { Visit } from "./join-server.ts";
import { nodeOf } from "./node-identity.ts";

const MAX_BODY = 256;
/** A year. */
const MAX_MINUTES = 525_600;
const PATH = /^\/v1\/leave\/([^/]+)(?:\/([^/]+))?$/;

export interface LeaveRoutesOptions {
  /** Undefined: machines do not leave by themselves here. */
  readonly leaves: Pick<Leaves, "ask" | "look"> | undefined;
  /** Its calendar is the API server's. */
  readonly clock: Clock;
}

/**
 * `POST /v1/leave/NODE` asks that the node be emptied, `GET /v1/leave/NODE/UID` how far that is. Both only with a
 * certificate of that node, which the cluster has signed.
 *
 * @returns false when the address is none of these
 */
export async function leaveRoutes(
  { leaves, clock }: LeaveRoutesOptions,
  pathname: string,
  request: IncomingMessage,
  response: ServerResponse,
  { signal }: Pick<Visit, "signal">,
): Promise<boolean> {
  const [, nodeName, uid] = PATH.exec(pathname) ?? [];
  if (nodeName === undefined || leaves === undefined) return false;
  if (nodeOf(request.socket, clock.wallNow()) !== nodeName) {
    throw new Refusal(403, "NOT_YOUR_NODE", "certificate", "a machine asks for its own node alone");
  }
  if (request.method !== (uid === undefined ? "POST" : "GET")) {
    throw new Refusal(405, "METHOD_NOT_ALLOWED", "not-found", "a leave is asked for by POST, and looked at by GET");
  }
  if (uid === undefined) {
    const { metadata } = await leaves.ask(nodeName, minutesOf(await bodyOf(request, MAX_BODY)), signal);
    send(request, response, 202, { uid: metadata.uid, name: metadata.name });
    return true;
  }
  const words = leaves.look(nodeName, uid);
  // Just made, it may not be in the cache yet: the machine asks again.
  if (words === undefined) throw new Refusal(404, "NOT_FOUND", "not-found", "there is no such drain", 1);
  send(request, response, 200, words);
  return true;
}

/** An empty body: the pool's own deadline. @throws Refusal */
function minutesOf(body: Buffer): number | undefined {
  const text = body.toString("utf8");
  if (text === "") return undefined;
  const minutes = /^deadlineMinutes=([0-9]{1,6})$/.exec(text)?.[1];
  if (minutes === undefined || Number(minutes) > MAX_MINUTES) {
    const words = `the body is deadlineMinutes=, and a number up to ${MAX_MINUTES}`;
    throw new Refusal(400, "BAD_REQUEST", "bad-request", words);
  }
  return Number(minutes);
}
