/** For each value of a result: where it comes from, and an example. */
export type ResultWords = Readonly<Record<string, readonly [from: string, example: unknown]>>;

export const GIVEN = ["the command's own parameter", "api"] as const;

/** For operations on one workload. */
export const WORKLOAD: ResultWords = {
  namespace: ["the command's own parameter", "shop"],
  kind: GIVEN,
  name: GIVEN,
};

export const EVENTS: ResultWords = {
  "events[].at": ["newest time of the event", "2026-11-20T10:00:00Z"],
  "events[].type": ["its `type`", "Warning"],
  "events[].reason": ["its `reason`", "BackOff"],
  "events[].regarding": ["kind and name of the object", "Pod/api-7d9c5-x2x4z"],
  "events[].count": ["how often", 4],
  "events[].note": ["its `note`, at most 512 characters, redacted", "Back-off restarting failed container"],
};

export const POD_DELETION: ResultWords = {
  namespace: ["the command's own parameter", "shop"],
  pod: GIVEN,
  uid: ["the pod's `metadata.uid`", "6f3e…"],
  alreadyGone: ["whether somebody else was first", false],
  terminating: ["whether it is still going", true],
};

export const NODE_SCHEDULING: ResultWords = {
  name: ["the command's own parameter", "node-1"],
  unschedulable: ["the node's `spec.unschedulable` afterwards", true],
  changed: ["whether it was otherwise before", true],
};

/** For every operation. */
export const RESULT_MARKS: ResultWords = {
  truncated: ["something was left out: a result holds at most 60,000 characters", true],
  omitted: ["the API server refused to store the result", "the API server refused to store the result"],
};
