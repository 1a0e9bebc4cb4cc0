import type { MachineDrainReason } from "../../crds/conditions.ts";
import type { NamedDeployments } from "../../crds/kinds/accepted-namespaces.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import type { ManagedDeployment } from "../../crds/kinds/managed-deployment.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { sameParams } from "../../crds/plan.ts";
import { type ClaimableLine, claimDigest, closedBecause, placeRefusal } from "../gate/gate.ts";
import { openedWindow } from "../gate/grant-window.ts";
import { planFault } from "../gate/plan-check.ts";
import { type CustomerPolicy, decisionOn, wantedOf } from "../gate/policy.ts";

type Requested = NonNullable<MachineDrain["spec"]["requested"]>;

/** Everything that the decision about one drain looks at. It does no I/O. */
export interface DrainFacts {
  /** One that the platform asks for. */
  readonly drain: MachineDrain & { readonly spec: { readonly requested: Requested } };
  readonly grants: readonly AccessGrant[];
  readonly policy: CustomerPolicy;
  readonly commands: CommandTable;
  readonly deployments: readonly Pick<ManagedDeployment, "spec" | "status">[];
  readonly named: NamedDeployments;
  readonly now: Date;
}

/** The condition Approved of a drain. None of its states is final: what people wrote decides, each time anew. */
export type DrainVerdict =
  | {
      readonly approved: true;
      readonly reason: Extract<MachineDrainReason<"Approved">, "PolicyAuto" | "GrantMatched">;
      readonly message: string;
      /** Absent when the policy alone allows it. */
      readonly granted?: ClaimableLine & { readonly grant: AccessGrant };
      readonly againMs?: number;
    }
  | {
      readonly approved: false;
      readonly reason: Extract<MachineDrainReason<"Approved">, "PolicyDenied" | "NoGrant" | "DeploymentNotAccepted">;
      readonly message: string;
      readonly againMs?: number;
    };

/** The word for the drain in the grant's line that it has used. */
export function drainCommandId({ metadata }: Pick<MachineDrain, "metadata">): string {
  return `drain-${metadata.uid}`;
}

/** Evictions began, or are over. */
function isBegun({ status }: Pick<MachineDrain, "status">): boolean {
  return status?.state !== undefined && status.state !== "Waiting";
}

/**
 * Does the customer's word cover this drain now? A grant's line is used by one drain. The end of the grant's window stops a
 * drain that has not begun; one that has begun goes on, and a revocation, a policy or the deployment's refusal ends it too.
 */
export function drainVerdict(facts: DrainFacts): DrainVerdict {
  const { drain, policy } = facts;
  const { deploymentId, machineId, remove } = drain.spec.requested;
  const command = remove === true ? "machines/remove" : "machines/drain";
  const unserved = placeRefusal(facts, deploymentId, undefined);
  if (unserved !== undefined) return { approved: false, reason: "DeploymentNotAccepted", message: unserved.message };
  const params = { machineId };
  const decision = decisionOn(policy, wantedOf(facts.commands, command, params), deploymentId);
  if (decision === "deny") {
    const message = `the customer's policy denies ${command}, approved or not`;
    return { approved: false, reason: "PolicyDenied", message };
  }
  // One that has used a line stands or falls with its grant, though the policy would let it run by itself by now.
  const used = facts.grants.find((grant) => lineOf(drain, grant) !== undefined);
  if (used !== undefined) return underGrant(used, command, facts);
  if (decision === "auto")
    return { approved: true, reason: "PolicyAuto", message: `the customer's policy allows ${command}` };
  const { grantName } = drain.spec.requested;
  const isNamed = ({ metadata }: AccessGrant): boolean => metadata.name === grantName;
  const fitting = facts.grants
    .filter(
      ({ spec }) => spec.deploymentId === deploymentId && spec.commands.some((line) => isLine(line, command, params)),
    )
    .toSorted((a, b) => Number(isNamed(b)) - Number(isNamed(a)) || a.metadata.name.localeCompare(b.metadata.name));
  const verdicts = fitting.map((grant) => underGrant(grant, command, facts));
  const best =
    verdicts.find(({ approved }) => approved) ?? verdicts.find(({ againMs }) => againMs !== undefined) ?? verdicts[0];
  return best ?? waits(`${command} needs an approved access grant with machineId ${machineId}`);
}

function isLine(
  line: AccessGrant["spec"]["commands"][number],
  command: string,
  params: Readonly<Record<string, unknown>>,
): boolean {
  return line.command === command && sameParams(line.params, params);
}

/** The line that this very drain has used, by its index. */
function lineOf(drain: MachineDrain, { status }: AccessGrant): number | undefined {
  const digest = claimDigest(drain.metadata.uid);
  return status?.commands?.find((line) => line.commandId === drainCommandId(drain) && line.digest === digest)?.index;
}

function underGrant(grant: AccessGrant, command: string, { drain, commands, now }: DrainFacts): DrainVerdict {
  const { name } = grant.metadata;
  const { deploymentId, machineId } = drain.spec.requested;
  const claimed = lineOf(drain, grant);
  const params = { machineId };
  const fault = planFault(grant.spec, commands.tierOf);
  if (fault !== undefined) return waits(`nothing runs under the plan of grant ${name}: ${fault.message}`);
  const granted = (index: number): DrainVerdict => ({
    approved: true,
    reason: "GrantMatched",
    message: `line ${index + 1} of grant ${name}`,
    granted: { index, claimed: claimed !== undefined, grant },
  });
  if (claimed !== undefined) {
    const isSame = grant.spec.deploymentId === deploymentId && isLine(lineAt(grant, claimed), command, params);
    if (!isSame) return waits(`line ${claimed + 1} of grant ${name} is not ${command} of this machine`);
    if (grant.metadata.deletionTimestamp !== undefined) return waits(`grant ${name} is being deleted`);
    if (grant.spec.revokedReason !== undefined) return waits(`grant ${name} was revoked`);
    if (isBegun(drain)) return granted(claimed);
  }
  // The line in use is what completes a grant whose only line it is.
  const closed = claimed !== undefined && grant.status?.state === "Completed" ? undefined : closedBecause(grant);
  if (closed !== undefined) return waits(`grant ${name}: ${closed}`);
  const window = openedWindow(grant);
  if (window === undefined) return waits(`grant ${name}: the approval is being recorded`);
  if (now < window.from) {
    return { ...waits(`grant ${name}: the window has not begun`), againMs: window.from.getTime() - now.getTime() };
  }
  if (now >= window.until) return waits(`grant ${name}: the window ended at ${window.until.toISOString()}`);
  // It is judged again when the window ends, for a drain that has not begun by then.
  const againMs = window.until.getTime() - now.getTime();
  if (claimed !== undefined) return { ...granted(claimed), againMs };
  const lines = grant.status?.commands ?? [];
  const free = grant.spec.commands.findIndex(
    (line, index) =>
      isLine(line, command, params) && lines.find((each) => each.index === index)?.commandId === undefined,
  );
  if (free < 0) return waits(`grant ${name}: every line that is ${command} of this machine has been used`);
  return { ...granted(free), againMs };
}

function lineAt({ spec }: AccessGrant, index: number): AccessGrant["spec"]["commands"][number] {
  return spec.commands[index] ?? { command: "", summary: "" };
}

function waits(message: string): DrainVerdict & { readonly approved: false } {
  return { approved: false, reason: "NoGrant", message };
}
