import type { Agent } from "node:http";
import type { Clock, Random } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import type { SessionKey } from "../../debug-link/session-key.ts";
import type { Client } from "../../kube/client/client.ts";
import type { Connection } from "../../kube/client/connection.ts";
import type { Told } from "../audit/left-file.ts";
import type { TunnelConfig } from "../kernel/config.ts";
import type { TunnelMetrics } from "../kernel/metrics.ts";
import type { Platform } from "../kernel/routes.ts";
import type { Spool } from "../spool/spool.ts";
import type { Uploads } from "../spool/uploads.ts";

/** What every session of the process shares. */
export interface SessionTools {
  readonly config: TunnelConfig;
  readonly client: Client;
  readonly connection: Connection;
  readonly platform: Platform;
  /** For the way to the relay, where there is a proxy. */
  readonly proxyAgent: Agent | undefined;
  readonly key: SessionKey;
  /** This process, in `status.tunnel.instance`. */
  readonly identity: string;
  readonly version: string;
  readonly spool: Spool;
  readonly uploads: Pick<Uploads, "add">;
  /** Its calendar is the API server's. */
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: TunnelMetrics;
  /** Gets each line of an audit file. */
  readonly emit: (line: string) => void;
  /** When the API server was last heard about debug sessions, monotonic. */
  readonly heardMs: () => number | undefined;
}

export function auditFile(sessionId: string): string {
  return `${sessionId}.audit.jsonl`;
}

export function recordingFile(sessionId: string): string {
  return `${sessionId}.recording.cast`;
}

/** What the session may have in the spool. */
export function filesOf(sessionId: string): readonly string[] {
  return [auditFile(sessionId), recordingFile(sessionId)];
}

/** What one session may take of the spool. Unless it is set, a share is left over for what waits to be uploaded. */
export function shareBytes({ spoolBytes, sessionSpoolBytes, maxConcurrent }: TunnelConfig): number {
  return sessionSpoolBytes ?? Math.floor(spoolBytes / (maxConcurrent + 1));
}

/** Where the object has the session's chain. */
export function toldOf({ status }: DebugSession): Told | undefined {
  const { audit, instance } = status?.tunnel ?? {};
  if (audit === undefined || instance === undefined) return undefined;
  return { records: audit.records, head: audit.head, instance };
}
