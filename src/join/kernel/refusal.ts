import type { Rejection } from "./metrics.ts";

/** Why a machine's request was not taken up: in words for the person at the machine, which never hold a token. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly code: string;
  readonly reason: Rejection;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, code: string, reason: Rejection, message: string, retryAfterSeconds?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
