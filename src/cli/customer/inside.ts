import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import { Table } from "../kernel/output.ts";

/** Who is in, or is let in or out just now. */
export interface OpenSession {
  readonly name: string;
  readonly state: string;
  readonly owner: string;
  readonly mode: string;
  readonly namespace: string;
  /** The latest end. */
  readonly until: string;
  readonly grantName: string | null;
  readonly reason: string;
}

export function openSessions(sessions: readonly DebugSession[]): readonly OpenSession[] {
  return sessions.flatMap(({ metadata: { name }, spec, status: { state, until } = {} }) => {
    if (state !== "Opening" && state !== "Open" && state !== "Closing") return [];
    const { owner, mode, namespace, expiresAt, grantName = null, reason } = spec;
    return [{ name, state, owner, mode, namespace, until: until ?? expiresAt, grantName, reason }];
  });
}

const COLUMNS = ["name", "state", "mode", "namespace", "owner", "until", "reason"];

export function sessionsTable(sessions: readonly OpenSession[], namespace: string): string {
  if (sessions.length === 0) return `No debug session of ${namespace} is open.\n`;
  return new Table(COLUMNS).lines(sessions.map((session) => ({ ...session })));
}
