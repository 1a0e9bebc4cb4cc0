import { int, list, optional, string } from "./field-types.ts";
import { field, message } from "./projection.ts";

/** `meta/v1.Status`: how the API server says no. Field numbers: generated.proto of k8s.io/apimachinery. */
export const statusShape = message({
  status: field(2, optional(string)),
  message: field(3, optional(string)),
  reason: field(4, optional(string)),
  details: field(
    5,
    optional(
      message({
        causes: field(4, list(message({ reason: field(1, optional(string)), message: field(2, optional(string)) }))),
        retryAfterSeconds: field(5, int),
      }),
    ),
  ),
  code: field(6, int),
});
