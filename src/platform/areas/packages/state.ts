import { MAX_BUILD_RETRIES } from "../../../contract/packages/package-builder.ts";
import type { PackageStatus } from "../../../contract/packages/packages.ts";

/** The part of a package that its state machine reads (§7). */
export interface Build {
  readonly status: PackageStatus;
  readonly retries: number;
  readonly locked_by: string | null;
  readonly lease_expires_at: Date | null;
}

/** At the instant of its end a lease has lapsed. */
function isLapsed({ lease_expires_at: end }: Build, now: Date): boolean {
  return end !== null && end <= now;
}

/** The last allowed lease has lapsed too. No request stores that, so every reader computes it. */
export function isAbandoned(build: Build, now: Date): boolean {
  return build.status === "building" && build.retries >= MAX_BUILD_RETRIES && isLapsed(build, now);
}

export function statusAt(build: Build, now: Date): PackageStatus {
  return isAbandoned(build, now) ? "failed" : build.status;
}

export const CANCELABLE: readonly PackageStatus[] = ["pending", "building"];

/** A lapsed lease still belongs to its builder until another builder takes the package. */
export function holds(build: Build, builderId: string, now: Date): boolean {
  return statusAt(build, now) === "building" && build.locked_by === builderId;
}
