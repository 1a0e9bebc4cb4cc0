import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { AuditType } from "../../debug-link/audit-chain.ts";
import type { Connection } from "../../kube/client/connection.ts";
import type { TunnelMetrics } from "../kernel/metrics.ts";
import type { Scope } from "../requests/judge.ts";
import type { RefusedRight } from "../requests/lacking-rule.ts";
import type { CastSink } from "../streams/recorder.ts";

export interface HandlerOptions {
  /** As it is now. */
  readonly scope: () => Scope;
  readonly ports: readonly number[] | undefined;
  /** The API server, as the session's account. @throws Error while there is no token */
  readonly upstream: () => Connection;
  readonly audit: { append(type: AuditType, fields: Readonly<Record<string, unknown>>): Promise<void> };
  /** The session's recording; undefined: nothing is recorded. */
  readonly recording: CastSink | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: TunnelMetrics;
  readonly counts: SessionCounts;
  /** A record could not be kept: the session must end. */
  readonly onAuditFailed: () => void;
}

/** What the session's status says of it. */
export interface SessionCounts {
  requests: number;
  denied: number;
  /** The last thing that the mode allows and the API server refused, until it was asked whether a rule is missing. */
  refused: RefusedRight | undefined;
  bytesIn: number;
  bytesOut: number;
  /** Monotonic. */
  lastClientByteMs: number;
}
