import type { Clock } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { Logger } from "../../base/log.ts";
import { orAborted } from "../../base/or-aborted.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import type { ChainEnd } from "../../debug-link/audit-chain.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import type { SessionCounts } from "../serving/handler-options.ts";
import { type StatusWriter, seconds, TakenOver, type TunnelStatus } from "./status-writer.ts";

export interface ReportOptions {
  readonly status: Pick<StatusWriter, "write">;
  readonly identity: string;
  /** Pin of this process. */
  readonly key: string;
  /** Its calendar is the API server's. */
  readonly clock: Clock;
  readonly log: Logger;
  /** Where the audit file stands on the disk; undefined: there is none yet. */
  readonly durable: () => ChainEnd | undefined;
  readonly onTakenOver: () => void;
  readonly onGone: () => void;
}

/** The head of the audit is told this often, and after so many records: a file that is cut behind it is found out. */
const EVERY_MS = 10_000;
const EVERY_RECORDS = 100;
/** What is said of the session must not grow old while the API server thinks about a right. */
const REVIEW_MS = 5_000;

type RefusedRight = NonNullable<SessionCounts["refused"]>;
/** The API server, asked as the session's account. */
type AsAccount = () => Pick<Client, "selfSubjectAccessReview">;

/** What the object says of one session while it is served here. */
export class SessionReport {
  readonly counts: SessionCounts;
  readonly #options: ReportOptions;
  /** What a tunnel before this one has told. */
  readonly #before: TunnelStatus["audit"];
  #epoch: number;
  #attachedAt: string | undefined;
  #wasAttached = false;
  #toldRecords = 0;
  /** What the API server said, when it was asked last, that the account may not do. */
  #missing: RefusedRight | undefined;
  #due = Promise.withResolvers<void>();

  constructor({ status }: DebugSession, options: ReportOptions) {
    this.#options = options;
    this.#epoch = status?.tunnel?.epoch ?? 0;
    this.#before = status?.tunnel?.audit;
    const lastClientByteMs = options.clock.monotonicMs();
    this.counts = { requests: 0, denied: 0, refused: undefined, bytesIn: 0, bytesOut: 0, lastClientByteMs };
  }

  get wasAttached(): boolean {
    return this.#wasAttached;
  }

  /** @returns the number that the epoch has in the object and in the audit: a relay that was restarted counts anew. */
  begin(epoch: number): number {
    this.#epoch = Math.max(this.#epoch + 1, epoch);
    return this.#epoch;
  }

  /** @returns the epoch of the client. */
  attached(): number {
    const { clock } = this.#options;
    this.#attachedAt = seconds(clock.wallNow());
    this.#wasAttached = true;
    this.counts.lastClientByteMs = clock.monotonicMs();
    this.#due.resolve();
    return this.#epoch;
  }

  detached(epoch: number): void {
    if (epoch !== this.#epoch) return;
    this.#attachedAt = undefined;
    this.#due.resolve();
  }

  recorded(): void {
    if ((this.#options.durable()?.records ?? 0) - this.#toldRecords >= EVERY_RECORDS) this.#due.resolve();
  }

  get now(): TunnelStatus {
    const { identity, key, clock, durable } = this.#options;
    const { lastClientByteMs, refused: _, ...counts } = this.counts;
    const end = durable();
    const audit = end && end.records > 0 ? { ...end, at: seconds(clock.wallNow()) } : this.#before;
    return {
      ...{ instance: identity, key, epoch: this.#epoch, ...counts },
      ...(this.#attachedAt !== undefined && { attachedAt: this.#attachedAt }),
      ...(this.#wasAttached && { lastClientByteAt: wallOf(clock, lastClientByteMs) }),
      ...(this.#missing !== undefined && { forbidden: textOf(this.#missing) }),
      ...(audit && { audit }),
    };
  }

  /** Whether what was missing is there again, and whether what was refused since is missing. */
  async #review(asAccount: AsAccount, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const { refused } = this.counts;
    this.counts.refused = undefined;
    const isMissing = async (right: RefusedRight): Promise<boolean> =>
      !(await withDeadline(clock, REVIEW_MS, signal, (each) => asAccount().selfSubjectAccessReview(right, each)));
    try {
      if (this.#missing !== undefined && !(await isMissing(this.#missing))) this.#missing = undefined;
      if (refused !== undefined && (await isMissing(refused))) this.#missing = refused;
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, "the rights of a debug session's account could not be asked for");
    }
  }

  /** Writes it until `signal` aborts. */
  async run(asAccount: AsAccount, signal: AbortSignal): Promise<void> {
    const { clock, log, status, onTakenOver, onGone } = this.#options;
    while (!signal.aborted) {
      this.#due = Promise.withResolvers();
      await this.#review(asAccount, signal);
      const { now } = this;
      try {
        await status.write(now, signal);
        this.#toldRecords = now.audit?.records ?? 0;
      } catch (err) {
        if (signal.aborted) return;
        if (err instanceof TakenOver) return onTakenOver();
        if (err instanceof ApiError && err.isNotFound) return onGone();
        log.warn({ err }, "the status of a debug session was not written");
      }
      await withDeadline(clock, EVERY_MS, signal, (each) => orAborted(this.#due.promise, each)).catch(() => undefined);
    }
  }
}

/** As kubectl names it: a resource of another API group may have the name of one of Kubernetes' own. */
function textOf({ verb, group, resource, subresource }: RefusedRight): string {
  return `${verb} ${resource}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`;
}

/** The wall clock's time of a monotonic one. */
function wallOf(clock: Clock, monotonicMs: number): string {
  return seconds(new Date(clock.wallNow().getTime() - (clock.monotonicMs() - monotonicMs)));
}
