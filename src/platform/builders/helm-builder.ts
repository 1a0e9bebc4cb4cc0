import { type Expression, type SqlBool, sql } from "kysely";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { complete, lease, progress } from "../areas/packages/build.ts";
import { BUILDER } from "../areas/packages/enqueue.ts";
import { versionOf } from "../areas/packages/store.ts";
import type { Db } from "../database/db.ts";
import type { PackageRow } from "../database/tables/packages.ts";
import { inTransaction } from "../kernel/call/transaction.ts";
import { PlatformError } from "../kernel/errors.ts";
import type { Waker } from "../kernel/events/waker.ts";
import { ALPHANUMERIC, randomText } from "../kernel/ids.ts";
import type { ServiceAccount } from "../kernel/tenancy/principal.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { ChartError, packChart } from "./chart.ts";
import { CHART_CONTENT_TYPE, chartKey, chartPath } from "./chart-link.ts";

/** A wake that was lost, or came to another replica, costs this much. */
const LOOK_EVERY_MS = 5_000;

export interface BuilderParts {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Logger;
  readonly waker: Waker;
  readonly objects: ObjectStore;
  /** Of `urlKey`. */
  readonly secret: Uint8Array;
  baseUrl(): string;
}

/** Builders outside come with a system manager's key; the one inside has the same rights and none of its own. */
const INSIDE: ServiceAccount = {
  kind: "serviceAccount",
  id: "builder",
  workspaceId: "",
  workspaceName: "",
  role: "manager.runtime",
  scope: { type: "manager", managerId: "" },
  expiresAt: null,
  system: true,
  setupFor: null,
};

/** Packages of releases that bring a chart. Others are for builders outside, who may know how to make one. */
const hasChart: Expression<SqlBool> = sql<SqlBool>`exists (
  select from releases r where r.id = k.source_release_id and jsonb_typeof(r.stack #> '{kubernetes,chart}') = 'object'
)`;

/**
 * Packs the charts of releases, one at a time, by the same leases as builders outside. @returns what ends it; a package
 * that is being built is then left to the next one, when its lease lapses.
 */
export function startHelmBuilder(parts: BuilderParts): () => Promise<void> {
  const ending = new AbortController();
  const building = buildAll(parts, `platform-${randomText(12, ALPHANUMERIC)}`, ending.signal);
  return async () => {
    ending.abort();
    await building;
  };
}

async function buildAll(parts: BuilderParts, builderId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const slept = parts.waker.sleep(BUILDER, LOOK_EVERY_MS, signal);
    try {
      for (let built = true; built && !signal.aborted; ) built = await buildNext(parts, builderId, signal);
    } catch (error) {
      if (!signal.aborted) parts.log.error({ err: error }, "builder failed");
    }
    await slept;
  }
}

/** False when there is nothing to build. */
async function buildNext(parts: BuilderParts, builderId: string, signal: AbortSignal): Promise<boolean> {
  const order = { builderId, types: ["helm" as const], limit: 1 };
  const [row] = await act(parts, signal, (call) => lease(call, order, hasChart));
  if (row === undefined) return false;
  const { id, workspace_id: workspaceId } = row;
  try {
    await build(parts, row, builderId, signal);
    parts.log.info({ packageId: id, workspaceId }, "chart built");
  } catch (error) {
    // Canceled, or too slow: somebody else has the say.
    if (error instanceof PlatformError && error.code === "LEASE_LOST") return true;
    if (!(error instanceof ChartError)) throw error;
    const failure = { code: "PACKAGE_BUILD_FAILED", message: error.message, internal: false, retryable: false };
    await act(parts, signal, (call) => complete(call, id, { builderId, status: "failed", error: failure }));
    parts.log.info({ packageId: id, workspaceId }, "chart cannot be built");
  }
  return true;
}

/** @throws ChartError for what no chart can be made of; whatever else fails is tried again when the lease lapses. */
async function build(parts: BuilderParts, row: PackageRow, builderId: string, signal: AbortSignal): Promise<void> {
  const { config } = row;
  if (config.type !== "helm") throw new Error(`package ${row.id} is no chart`);
  const release = await parts.db
    .selectFrom("releases")
    .select(["version", sql<unknown>`stack #> '{kubernetes,chart}'`.as("chart")])
    .select(sql<string>`stack #>> '{kubernetes,id}'`.as("stack"))
    .where("id", "=", row.source_release_id)
    .executeTakeFirstOrThrow();
  const { stack } = release;
  const tell = (phase: "building" | "publishing", event: Parameters<typeof progress>[2]["event"]) =>
    act(parts, signal, (call) => progress(call, row.id, { builderId, buildPhase: phase, ...(event && { event }) }));
  await tell("building", { type: "BuildingStack", stack });
  const version = versionOf(row);
  const { chartName: name, description } = config;
  const packed = await packChart(release.chart, { name, description, version, appVersion: release.version });
  const chart = { packageId: row.id, file: `${name}-${version}.tgz` };
  await tell("publishing", { type: "PushingStack", platform: "kubernetes", stack });
  await parts.objects.put(chartKey(chart), packed, CHART_CONTENT_TYPE, signal);
  const outputs = { type: "helm", chart: parts.baseUrl() + chartPath(parts.secret, chart), version };
  await act(parts, signal, (call) => complete(call, row.id, { builderId, status: "ready", outputs }));
}

type Act = { readonly db: Db; readonly now: Date; readonly principal: ServiceAccount };

function act<T>({ db, clock }: BuilderParts, signal: AbortSignal, work: (call: Act) => Promise<T>): Promise<T> {
  const options = { readOnly: false, signal, onRetry: () => undefined };
  return inTransaction(db, options, (transaction) =>
    work({ db: transaction, now: clock.wallNow(), principal: INSIDE }),
  );
}
