import type { Expression, SqlBool } from "kysely";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { PackageOutputs, PackageType } from "../../contract/packages/package-types.ts";
import { complete, lease, progress } from "../areas/packages/build.ts";
import { BUILT_IN_BUILDER } from "../areas/packages/built-in-builder.ts";
import { BUILDER, buildSleeper } from "../areas/packages/wake.ts";
import type { Db } from "../database/db.ts";
import type { PackageRow } from "../database/tables/packages.ts";
import { inTransaction } from "../kernel/call/transaction.ts";
import { PlatformError } from "../kernel/errors.ts";
import type { Waker } from "../kernel/events/waker.ts";
import { ALPHANUMERIC, randomText } from "../kernel/ids.ts";
import type { ServiceAccount } from "../kernel/tenancy/principal.ts";

/** The longest delay after a wake-up that was lost or went to another replica. */
const LOOK_EVERY_MS = 5_000;

export interface RunnerParts {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Logger;
  readonly waker: Waker;
}

/** Builds packages of one type inside of the platform's process. */
export interface Builder {
  readonly type: PackageType;
  /** Selects the packages that it can build now, from the table `packages as k`. External builders take the others. */
  buildable(now: Date): Expression<SqlBool>;
  /**
   * @param signal aborts when the platform stops, and when the package is canceled.
   * @throws UnbuildableError for what cannot be built. Any other failure is retried when the lease lapses.
   */
  build(row: PackageRow, tell: Tell, signal: AbortSignal): Promise<PackageOutputs>;
  /** Removes what a build has stored when the package was canceled, or went to another builder. */
  discard?(row: PackageRow, signal: AbortSignal): Promise<void>;
}

type Progress = Parameters<typeof progress>[2];
/** Reports the phase that begins, with an event. @throws LEASE_LOST when another builder has the package now. */
export type Tell = (phase: Progress["buildPhase"], event: Progress["event"]) => Promise<unknown>;

/** The package's content is wrong: a retry would fail too. */
export class UnbuildableError extends Error {
  override readonly name: string = "UnbuildableError";
}

/**
 * Builds packages one at a time, with the same leases as external builders.
 * @returns a function that stops it. The next builder takes a package that is being built when its lease lapses.
 */
export function startBuilder(parts: RunnerParts, builder: Builder): () => Promise<void> {
  const ending = new AbortController();
  const building = buildAll(parts, builder, `platform-${randomText(12, ALPHANUMERIC)}`, ending.signal);
  return async () => {
    ending.abort();
    await building;
  };
}

async function buildAll(parts: RunnerParts, builder: Builder, builderId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const slept = parts.waker.sleep(BUILDER, LOOK_EVERY_MS, signal);
    try {
      for (let built = true; built && !signal.aborted; ) built = await buildNext(parts, builder, builderId, signal);
    } catch (error) {
      if (!signal.aborted) parts.log.error({ err: error }, "builder failed");
    }
    await slept;
  }
}

/** False when there is nothing to build. */
async function buildNext(
  parts: RunnerParts,
  builder: Builder,
  builderId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const order = { builderId, types: [builder.type], limit: 1 };
  const [row] = await act(parts, signal, (call) =>
    lease(call, order, { among: builder.buildable(call.now), inTurns: true }),
  );
  if (row === undefined) return false;
  const { id, type, workspace_id: workspaceId } = row;
  let phase: Progress["buildPhase"] = "building";
  const renew = (event?: Progress["event"]) =>
    act(parts, signal, (call) => progress(call, id, { builderId, buildPhase: phase, ...(event && { event }) }));
  const tell: Tell = (buildPhase, event) => {
    phase = buildPhase;
    return renew(event);
  };
  try {
    const outputs = await whileHeld(parts, id, renew, signal, (held) => builder.build(row, tell, held));
    await act(parts, signal, (call) => complete(call, id, { builderId, status: "ready", outputs }));
    parts.log.info({ packageId: id, type, workspaceId }, "package built");
  } catch (error) {
    // The package was canceled, or the lease lapsed and another builder decides.
    if (error instanceof PlatformError && error.code === "LEASE_LOST") {
      await builder.discard?.(row, signal);
      return true;
    }
    if (!(error instanceof UnbuildableError)) throw error;
    const failure = { code: "PACKAGE_BUILD_FAILED", message: error.message, internal: false, retryable: false };
    await act(parts, signal, (call) => complete(call, id, { builderId, status: "failed", error: failure }));
    parts.log.info({ packageId: id, type, workspaceId }, "package cannot be built");
  }
  return true;
}

/**
 * Renews the lease while `work` runs, and at each wake, which a cancellation is. Aborts the work's signal when the package
 * is another builder's, or canceled.
 * @throws LEASE_LOST then, when the work has ended.
 */
async function whileHeld<T>(
  { waker, log }: RunnerParts,
  id: string,
  renew: () => Promise<unknown>,
  stopping: AbortSignal,
  work: (held: AbortSignal) => Promise<T>,
): Promise<T> {
  const [done, lost] = [new AbortController(), new AbortController()];
  const watching = (async () => {
    const ending = AbortSignal.any([stopping, done.signal]);
    // One for all rounds: a cancellation that comes while the lease is being renewed is not lost.
    using wakes = waker.subscribe(buildSleeper(id));
    for (;;) {
      await wakes.next(LOOK_EVERY_MS, ending);
      if (ending.aborted) return;
      try {
        await renew();
      } catch (error) {
        if (error instanceof PlatformError && error.code === "LEASE_LOST") return lost.abort(error);
        // The database is away for a moment; the lease lasts longer.
        if (!ending.aborted) log.warn({ err: error, packageId: id }, "the lease of a build was not renewed");
      }
    }
  })();
  try {
    return await work(AbortSignal.any([stopping, lost.signal]));
  } catch (error) {
    throw lost.signal.aborted ? lost.signal.reason : error;
  } finally {
    done.abort();
    await watching;
  }
}

type Act = { readonly db: Db; readonly now: Date; readonly principal: ServiceAccount };

function act<T>({ db, clock }: RunnerParts, signal: AbortSignal, work: (call: Act) => Promise<T>): Promise<T> {
  const options = { readOnly: false, signal, onRetry: () => undefined };
  return inTransaction(db, options, (transaction) =>
    work({ db: transaction, now: clock.wallNow(), principal: BUILT_IN_BUILDER }),
  );
}
