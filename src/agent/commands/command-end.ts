import { COMMAND_PAYLOAD_MAX_BYTES, type TerminalCommandState } from "../../contract/operations/commands.ts";
import { STORED_ERROR_CODE } from "../../contract/wire/errors.ts";
import type { StoredError } from "../../contract/wire/stored-error.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";

/** How a command ended, in the platform's words. */
export interface CommandEnd {
  readonly state: TerminalCommandState;
  readonly completedAt: string;
  readonly responseSizeBytes?: number;
  readonly error?: StoredError;
  readonly result?: unknown;
}

const CODE = new RegExp(STORED_ERROR_CODE);

/** The end of a command whose invocation has ended; undefined while it has not. */
export function endOf(invocation: OperationInvocation, now: Date): CommandEnd | undefined {
  const { status } = invocation;
  const completedAt = status?.finishedAt ?? now.toISOString();
  switch (status?.state) {
    case "Succeeded":
      return { state: "SUCCEEDED", completedAt, ...resultOf(status.result) };
    case "Failed": {
      const { code = "HANDLER_ERROR", message = "the operation failed" } = status.error ?? {};
      return {
        ...failed(CODE.test(code) ? code : "HANDLER_ERROR", message, now),
        completedAt,
        ...resultOf(status.result),
      };
    }
    case "Held":
      return failed("COMMAND_HELD", heldBecause(invocation), now);
    case "Expired":
      return { state: "EXPIRED", completedAt };
    case "Unknown":
      return failed("OUTCOME_UNKNOWN", status.error?.message ?? "the operator stopped while it ran", now);
    default:
      return undefined;
  }
}

/** A command that ends without, or apart from, an invocation. */
export function failed(code: string, message: string, now: Date): CommandEnd {
  return { state: "FAILED", completedAt: now.toISOString(), error: { code, message, internal: false } };
}

function heldBecause({ status }: OperationInvocation): string {
  const condition = status?.conditions?.find(({ type }) => type === "Authorized");
  return condition === undefined ? "held in the cluster" : `${condition.reason}: ${condition.message}`;
}

/** A result too large to report says so: its success is still worth more than none. */
function resultOf(result: unknown): Pick<CommandEnd, "result" | "responseSizeBytes"> {
  if (result === undefined) return {};
  const responseSizeBytes = Buffer.byteLength(JSON.stringify(result));
  if (responseSizeBytes <= COMMAND_PAYLOAD_MAX_BYTES) return { result, responseSizeBytes };
  return { result: { truncated: true, sizeBytes: responseSizeBytes }, responseSizeBytes };
}
