import type { Seat } from "../kernel/budgets/budgets.ts";
import type { Engine } from "../kernel/call/execute.ts";
import type { Permit } from "./signed-path.ts";

/**
 * What an upload to the platform's own folder depends on beside its address, by the first segment of its key. Looked at
 * when the upload comes: the address may have been handed out hours before.
 * @throws PlatformError when nothing may be put there (any more).
 */
export type UploadRule = (
  engine: Pick<Engine, "db" | "clock" | "budgets" | "metrics">,
  permit: Permit,
) => Promise<Upload>;

export interface Upload {
  /** Of the tenant that uploads. */
  readonly seat: Seat;
  /** Where each byte counts for the tenant, and nothing is replaced. */
  readonly kept?: KeptUpload;
}

export interface KeptUpload {
  /** Sets so many bytes aside, before the first of them is read. @throws BUDGET_EXCEEDED, FILE_EXISTS. */
  reserve(bytes: number): Promise<void>;
  /** The file lies there. */
  stored(bytes: number): Promise<void>;
  /** It does not, and nothing of it. */
  broken(): Promise<void>;
}
