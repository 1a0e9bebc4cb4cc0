/** Of a report: what only a cluster sends in which releases are on. releases/wishes.test.ts sees each of them sent. */
export const RELEASE_FIELDS: readonly string[] = [
  ...["state.currentRelease.releaseId", "state.currentRelease.version", "state.runtimeMetadata", "operationId"],
  ...["state.error.context", "state.stackState.platform", "state.stackState.resourcePrefix"],
  ...["type", "status", "lifecycle"].map((field) => `state.stackState.resources.*.${field}`),
  ...["code", "message", "internal", "retryable"].map((field) => `state.stackState.resources.*.error.${field}`),
  ...["source", "httpStatusCode"].map((field) => `state.error.${field}`),
  ...["type", "state", "at", "data"].map((field) => `progressEvents[].${field}`),
  ...["code", "message", "internal", "retryable", "context"].map(
    (field) => `progressEvents[].state.failed.error.${field}`,
  ),
].map((field) => `body.${field}`);
