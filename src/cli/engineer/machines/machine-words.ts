import type { Machine } from "../../../contract/machines/machine.ts";

type Blocker = Machine["drainBlockers"][number];

/** What a person can do about a pod that stays, where the cluster gives no words of its own. */
const HELP: Readonly<Record<Blocker["reason"], string>> = {
  "pod-disruption-budget": "raise the budget's maxUnavailable, or run one replica more",
  "unmanaged-pod": "nothing would replace this pod: delete it, or drain with --force where the pool allows that",
  "local-storage": "its emptyDir would be lost: delete the pod, or set drain.deleteEmptyDir in the pool",
  terminating: "it ends already: its grace period or its finalizers hold it",
  "eviction-error": "the API server or a webhook refuses: kubectl get events shows why",
  "misconfigured-budget": "two budgets match this pod, so that none can be kept: narrow one of them",
  daemon: "it stays on the machine, and holds nothing up",
};

/** The next step of a drain, by the reason of one of its conditions. Others are only told. */
const DRAIN_NEXT: Readonly<Record<string, string>> = {
  AwaitingApproval: "the customer must approve; --reason asks for it",
  NoGrant: "the customer must approve; --reason asks for it",
  DeploymentNotAccepted: "the customer has not accepted this deployment",
  PolicyDenied: "the customer's policy denies it",
  Queued: "other drains of its pool go first",
  Superseded: "an older drain of this machine goes on",
  Stalled: "nothing has left it for ten minutes: act on what is in the way",
  OtherMachine: "the customer's cluster has another machine under this node's name",
  PoolInvalid: "the customer's pool has a selector that cannot be read",
  PolicyMissing: "an admission policy of Sallyport is missing: the customer brings it back with helm upgrade",
  DeletedByCustomer: "the customer deleted it in the cluster: ask them before the next",
  Uncordoned:
    "its node takes pods again: the customer deletes the MachineDrain, which ends the removal; then cancel, drain and remove it anew",
  NotLabelled:
    "its node did not register as a machine: the customer deletes it, or labels it sallyport.dev/machine=true",
  NodeHeld: "finalizers of another controller hold its node: the customer looks at the node's metadata.finalizers",
  NameTaken: "another MachineDrain of the cluster has its name: the customer deletes that one",
  NodeNotFound: "the customer's cluster has no such node: sallyport machines cancel takes the drain back",
  GoesOn: "the deadline has passed: it goes on trying, and needs --force to end",
  ForceNotAllowed: "the deadline has passed, and the customer's pool does not allow --force",
};

const LOOK = "kubectl get mjoin -n sallyport-grants";

/** The same of a join, and of the pool that it waits for. */
const JOIN_NEXT: Readonly<Record<string, string>> = {
  AwaitingApproval: `the customer lets it in, see ${LOOK}`,
  PoolFull: "the customer's pool is full: raise maxMachines, or remove a machine",
  PoolGone: "the customer has no acting pool of that name",
  PoolClosed: "the customer's pool takes no machines any more: its until has passed",
  NameNotAllowed: "join again under a name that begins with the pool's prefix",
  NameTaken: `another machine has, or had, this name, see ${LOOK}: join again under another one`,
  RequestTaken: "the customer deletes the certificate request of its name; then join again",
  BadRequest: "its certificate request is not that of one node: join again with the join server's own script",
  DeniedByPerson: "the customer refused it: ask them, and join again",
  Expired: "it took too long: join again",
  AwaitingSigner: "the cluster's signer has not answered yet",
  SignerFailed: "the cluster's signer refused: the customer looks at its log",
  SignerSilent: "the cluster's signer does not sign: some managed clusters sign no certificates of nodes",
  AwaitingNode: "its kubelet starts: journalctl -u kubelet on the machine says how far it is",
  PolicyMissing: "an admission policy of Sallyport is missing: the customer brings it back with helm upgrade",
  NoJoinServer: "the join server has not started: the customer looks at the pods of sallyport-join",
  JoinServerSilent: "nothing is heard of the join server: the customer looks at the pods of sallyport-join",
};

function helpOf({ type, reason }: Machine["conditions"][number]): string | undefined {
  const next = type.startsWith("Join") || type.startsWith("Pool") ? JOIN_NEXT : DRAIN_NEXT;
  return reason != null && Object.hasOwn(next, reason) ? next[reason] : undefined;
}

/** One line for everything about a machine that is worth telling when it changes, by what it is about. */
export function linesOf(machine: Machine): ReadonlyMap<string, string> {
  const { machineId, status, stale, joinState, conditions, drainDeadlineAt, customerCancelledAt } = machine;
  const lines = new Map<string, string>();
  const deadline = drainDeadlineAt === null || status !== "draining" ? "" : `, until ${plain(drainDeadlineAt)}`;
  const join = joinState === null || joinState === "joined" ? "" : `, its join is ${joinState}`;
  lines.set("status", `${machineId} is ${status}${join}${deadline}${stale ? ", and says nothing any more" : ""}`);
  if (customerCancelledAt !== null) {
    const when = plain(customerCancelledAt);
    lines.set("cancel", `  cancelled by the customer at ${when}: ask them, then ask for it again`);
  }
  for (const condition of conditions) {
    const { type, status: is, reason } = condition;
    const help = helpOf(condition);
    const why = `${reason == null ? "" : ` (${reason})`}${help === undefined ? "" : `: ${help}`}`;
    lines.set(`condition ${type}`, `  ${type}=${is}${why}`);
  }
  for (const [about, blockers] of grouped(machine.drainBlockers)) lines.set(`blocker ${about}`, blockerLine(blockers));
  return lines;
}

function grouped(blockers: readonly Blocker[]): ReadonlyMap<string, readonly Blocker[]> {
  const groups = new Map<string, Blocker[]>();
  for (const blocker of blockers) {
    const about = `${blocker.reason} ${nameOf(blocker)}`;
    groups.set(about, [...(groups.get(about) ?? []), blocker]);
  }
  return groups;
}

/** With its namespace, where the cluster tells that. */
function nameOf({ workloadId, workloadName, replicaId }: Blocker): string {
  return workloadId ?? workloadName ?? replicaId ?? "a pod";
}

function blockerLine(blockers: readonly Blocker[]): string {
  const [first] = blockers as [Blocker];
  const count = blockers.length === 1 ? "" : ` (${blockers.length} pods)`;
  const since = blockers.flatMap((each) => each.since ?? []).toSorted()[0];
  const message = blockers.find((each) => each.message != null)?.message;
  const when = since === undefined ? "" : ` since ${plain(since)}`;
  return `  ${nameOf(first)}${count}: ${first.reason}${when}: ${message ?? HELP[first.reason]}`;
}

/** Who holds a machine up, in the cell of a list. */
export function whyOf({ drainBlockers, conditions, joinState, customerCancelledAt }: Machine): string | null {
  const counts = new Map<string, number>();
  for (const { reason } of drainBlockers) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const words = [...counts].map(([reason, count]) => `${reason}:${count}`);
  if (joinState !== null && joinState !== "joined") words.unshift(`join ${joinState}`);
  if (customerCancelledAt !== null) words.push("CancelledByCustomer");
  words.push(...conditions.flatMap((each) => (helpOf(each) === undefined ? [] : (each.reason ?? []))));
  return words.length === 0 ? null : words.join(" ");
}

/** What to print when a machine has changed: what is new, and what is over. */
export function changes(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): readonly string[] {
  const told = [...now].flatMap(([about, line]) => (before.get(about) === line ? [] : [line]));
  const over = [...before.keys()].filter((about) => !now.has(about) && about.startsWith("blocker "));
  return [...told, ...over.map((about) => `  over: ${about.slice("blocker ".length)}`)];
}

function plain(instant: string): string {
  return instant.replace(/\.\d{3}Z$/, "Z");
}
