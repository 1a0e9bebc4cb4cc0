import { expect, it } from "vitest";
import { ApiError } from "../../kube/client/api-error.ts";
import { answerOf } from "./judge.ts";

function refusal(
  status: number,
  message: string,
  more: { causes?: { reason: string; message?: string }[]; retryAfterMs?: number; reason?: string } = {},
): ApiError {
  const { causes = [], retryAfterMs, reason = "" } = more;
  return new ApiError(message, { status, reason, body: { code: status, details: { causes } }, retryAfterMs });
}

it.each([
  [
    "a budget",
    refusal(429, "Cannot evict", {
      causes: [{ reason: "DisruptionBudget", message: "needs 2" }],
      retryAfterMs: 10_000,
    }),
    { is: "budget", message: "needs 2" },
  ],
  [
    "a busy server",
    refusal(429, "too many", { retryAfterMs: 3_000 }),
    { is: "busy", afterMs: 3_000, message: "too many" },
  ],
  [
    "a busy server that wants an hour",
    refusal(429, "too many", { retryAfterMs: 3_600_000 }),
    { is: "busy", afterMs: 60_000, message: "too many" },
  ],
  ["a busy server that says no time", refusal(429, "too many"), { is: "busy", afterMs: 5_000, message: "too many" }],
  ["a pod that is gone", refusal(404, "not found"), { is: "gone" }],
  ["another uid", refusal(409, "Precondition failed: UID", { reason: "Conflict" }), { is: "replaced" }],
  [
    "two budgets",
    refusal(
      500,
      "POST x: 500 This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    ),
    { is: "misconfigured" },
  ],
  [
    "a namespace that is deleted",
    refusal(403, "forbidden", { causes: [{ reason: "NamespaceTerminating" }] }),
    { is: "ending" },
  ],
  [
    "a webhook",
    refusal(403, "admission webhook denied: password=hunter2"),
    { is: "error", message: "admission webhook denied: password=[redacted]" },
  ],
  ["a broken server", refusal(500, "etcd leader\nchanged"), { is: "error", message: "etcd leader changed" }],
  [
    "no answer",
    new ApiError("POST x: ECONNRESET", { status: 0, reason: "NetworkError" }),
    { is: "error", message: "POST x: ECONNRESET" },
  ],
])("%s", (_, error, answer) => {
  expect(answerOf(error)).toEqual(answer);
});

it("what is no answer of an API server is thrown", () => {
  const error = new TypeError("a bug");
  expect(() => answerOf(error)).toThrow(error);
});
