import type { Seat } from "../kernel/budgets/budgets.ts";
import type { Engine } from "../kernel/call/execute.ts";
import type { Permit } from "./signed-path.ts";

/**
 * Decides whether an upload to the platform's own folder is allowed, by the first segment of its key. Checked when the
 * upload begins, because the address may have been handed out hours before.
 * @throws PlatformError when nothing may be stored there (any more).
 */
export type UploadRule = (
  engine: Pick<Engine, "db" | "clock" | "budgets" | "metrics">,
  permit: Permit,
) => Promise<Upload>;

export interface Upload {
  /** The seat of the tenant that uploads. */
  readonly seat: Seat;
  /** For uploads that count in the tenant's budget of bytes and replace nothing. */
  readonly kept?: KeptUpload;
}

export interface KeptUpload {
  /** Reserves the bytes in the budget before the body is read. @throws BUDGET_EXCEEDED, FILE_EXISTS. */
  reserve(bytes: number): Promise<void>;
  /** The file is stored. */
  stored(bytes: number): Promise<void>;
  /** The upload failed, and no part of it is stored. */
  broken(): Promise<void>;
}
