import type { Tier } from "../plan.ts";

/** What a rollout may do: what the customer's policy decides about, each by its own name. */
const RELEASE_ACTS = ["install", "update", "prune", "delete", "rollback"] as const;
export type ReleaseAct = (typeof RELEASE_ACTS)[number];
export type ReleaseCommand = `release/${ReleaseAct}`;

/** Every command of releases begins so. A Rollout carries it out: no plan and no invocation may name one. */
export const RELEASE_PREFIX = "release/";

/** Whether a command is of a release: no operation runs it, and no grant allows it. */
export function isRelease(command: string): boolean {
  return command.startsWith(RELEASE_PREFIX);
}

interface ReleaseDeclaration {
  readonly act: ReleaseAct;
  /** `release/<act>`, as policies write it. */
  readonly command: ReleaseCommand;
  readonly tier: Tier;
}

/**
 * Pruning is what an install or update deletes beside what it brings, for good or to make it again. Detaching counts as
 * `release/delete`: what is left of the release is not ours to change any more.
 */
export const RELEASE_OPERATIONS: readonly ReleaseDeclaration[] = [
  { act: "install", command: "release/install", tier: "mutating" },
  { act: "update", command: "release/update", tier: "mutating" },
  { act: "prune", command: "release/prune", tier: "destructive" },
  { act: "delete", command: "release/delete", tier: "destructive" },
  { act: "rollback", command: "release/rollback", tier: "mutating" },
];

export const PRUNE: ReleaseCommand = "release/prune";
/** Decides on what is pruned as well, where a policy does not name that. */
export const DELETE: ReleaseCommand = "release/delete";

/** Goes back to what the customer has allowed before, so it needs no approval: a policy may deny it, and nothing else. */
export const ROLLBACK: ReleaseCommand = "release/rollback";
