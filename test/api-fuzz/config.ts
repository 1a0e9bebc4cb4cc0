import type { Caller } from "./callers.ts";

/** What schemathesis is told beside its arguments. */
export function configOf({ operations, edges }: Caller): string {
  const others = operations.filter((id) => !edges.includes(id));
  if (others.length === 0) return COMMON;
  return `${COMMON}
[[operations]]
include-operation-id = ${JSON.stringify(others)}
phases.coverage.enabled = false
`;
}

// No file of past failures. And schemathesis must not learn from answers: they hold ids, which differ in each run, so
// the requests would differ too. hooks.py knows which objects exist.
const COMMON = `
# How busy the machine is must not decide.
suppress-health-check = ["too_slow"]
request-timeout = 60

[cache]
enabled = false

[phases]
stateful.enabled = false
examples.extra-data-sources.responses = false
coverage.extra-data-sources.responses = false
fuzzing.extra-data-sources.responses = false
fuzzing.error-feedback.enabled = false

# Without 401: a run whose credential is refused finds nothing.
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 403, 404, 409, 429, "5xx"]

# 426 refuses as well: the checker's own list, and the one status that it lacks.
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 415, 422, 426, 428, 429, "5xx"]
`;
