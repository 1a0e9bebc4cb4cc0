import type { DeploymentStatus } from "../../../../contract/deployments/deployment-state.ts";

const RETRY = "retry it: what failed is tried again";
const UNDER_WAY = "it is under way: wait for its end, or promote another release";
const GOING = "it is being deleted: wait, or delete it with the action forget, which drops the record alone";

/** What a person can do about a deployment in this status, who asked for a retry or a redeploy that it does not take. */
export const INSTEAD: Readonly<Record<DeploymentStatus, string>> = {
  pending:
    "nothing has failed: it waits for the agent in the customer's cluster, for the customer to accept it, or for a release",
  "preflights-failed": RETRY,
  "initial-setup": "nothing has failed: its error says what it waits for, such as the customer's approval",
  "initial-setup-failed": RETRY,
  provisioning: UNDER_WAY,
  "waiting-for-machines": "it is under way: let a machine join, or promote a release that asks for less",
  "provisioning-failed": RETRY,
  running: "nothing has failed: a redeploy applies the release that runs once more",
  "refresh-failed": RETRY,
  "update-pending": "an update is asked for already: its error says what it waits for, such as the customer's approval",
  updating: UNDER_WAY,
  "update-failed": RETRY,
  "delete-pending": GOING,
  deleting: GOING,
  "delete-failed": RETRY,
  "teardown-required":
    "take away what its error names, then delete it with the action forget, which drops the record alone",
  "teardown-failed": RETRY,
  deleted: "it is gone: create another deployment",
  error: "its manager cannot go on, and its error says why: mend that, or delete it",
};
