import type { Agent } from "node:http";
import type { Clock, Random } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { SessionKey } from "../../debug-link/session-key.ts";
import type { Client } from "../../kube/client/client.ts";
import type { Connection } from "../../kube/client/connection.ts";
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
