import { DebugSession } from "../../contract/debug-sessions/debug-sessions.ts";
import { misfit } from "../../contract/wire/misfit.ts";
import { isReadable } from "../platform-link/readable.ts";

/** What an engineer asked for; checked. */
export type AskedSession = Pick<DebugSession, "owner" | "expiresAt"> & {
  readonly access: NonNullable<DebugSession["access"]>;
};

/** A pending session as the platform lists it: checked, or known to be unfit for this cluster and why. */
export interface ListedSession {
  readonly id: string;
  readonly deploymentId: string;
  readonly wanted:
    | { readonly fit: true; readonly asked: AskedSession }
    | { readonly fit: false; readonly problem: string };
}

const FIELDS = ["owner", "expiresAt", "access"] as const;
/** As the custom resource has them; beyond these the API server would refuse the session. */
const MAX_OWNER = 256;
const MAX_REASON = 2_048;

/**
 * One item of the platform's list; undefined when it has not even an id to answer with. `none`: a record that a manager
 * made of a session of its own, of which nothing is asked here.
 */
export function readListedSession(item: unknown, deploymentId: string): ListedSession | "none" | undefined {
  if (misfit(DebugSession, item, ["id", "deploymentId"]) !== undefined) return undefined;
  const session = item as DebugSession;
  if (session.deploymentId !== deploymentId) return undefined;
  if (session.access === null) return "none";
  const { id } = session;
  const problem = misfit(DebugSession, item, FIELDS) ?? textProblem(session);
  if (problem !== undefined) return { id, deploymentId, wanted: { fit: false, problem } };
  const { owner, expiresAt, access } = session;
  return { id, deploymentId, wanted: { fit: true, asked: { owner, expiresAt, access } } };
}

/** Why people could not read what they decide on. */
function textProblem({ owner, access }: DebugSession): string | undefined {
  const name = owner ?? "";
  const reason = access?.reason ?? "";
  if (!isReadable(name) || /[\n\t]/.test(name)) return "owner: a character that cannot be shown";
  if (!isReadable(reason)) return "access.reason: a character that cannot be shown";
  if (name.length > MAX_OWNER) return "owner: too long";
  return reason.length > MAX_REASON ? "access.reason: too long" : undefined;
}
