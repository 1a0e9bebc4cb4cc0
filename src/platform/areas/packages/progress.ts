import type { BuildEvent } from "../../../contract/packages/package-builder.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Db } from "../../database/db.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import { eventState, insertEvent, type NewEventState } from "../../kernel/events/outbox.ts";
import { kept } from "../../kernel/tenancy/stored-error.ts";

type Context = { readonly db: Db; readonly now: Date };

/** Error of the step at which a build ended because the project's plugins changed. */
export const SUPERSEDED = kept<StoredError>({
  code: "PACKAGE_BUILD_FAILED",
  message: "The project's plugins changed: a new build takes its place.",
  internal: false,
  retryable: false,
});

/** Ends the builder's current step and starts the next one (§13.2). @returns the new event's id. */
export async function tellProgress(call: Context, row: PackageRow, event: BuildEvent): Promise<string> {
  await endProgress(call, row, "success");
  const { type, ...data } = event;
  return insertEvent(call.db, { ...aboutPackage(row, data), type, state: "started" }, call.now);
}

/** Writes the event `Finished` of a ready package. */
export async function tellFinished(call: Context, row: PackageRow): Promise<void> {
  await endProgress(call, row, "success");
  await insertEvent(call.db, { ...aboutPackage(row, {}), type: "Finished", state: "success" }, call.now);
}

/** A step is one row; its end changes the state of that row. */
export async function endProgress({ db }: Context, row: PackageRow, state: NewEventState): Promise<void> {
  if (row.event_id === null) return;
  await db
    .updateTable("events")
    .set({ state: eventState(state) })
    .where("id", "=", row.event_id)
    .execute();
}

function aboutPackage(row: PackageRow, data: object) {
  return {
    projectId: row.project_id,
    ...(row.source_release_id !== null && { releaseId: row.source_release_id }),
    data: { packageId: row.id, packageType: row.type, ...data },
  };
}
