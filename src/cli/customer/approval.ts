import { minutesText } from "../../crds/approved-minutes.ts";
import { EXPIRES_AT_ANNOTATION, GRANT_UID_LABEL, grantAccount } from "../../crds/group.ts";
import { type AccessGrant, FINAL_GRANT_STATES } from "../../crds/kinds/access-grant.ts";
import { type LentBinding, lentBinding, rolesOfPlan } from "../../crds/kinds/lending.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { planHash } from "../../crds/plan.ts";
import { FriendlyError, UsageError } from "../kernel/command.ts";
import { textOf } from "../kernel/output.ts";
import { CODES } from "./customer-cluster.ts";
import type { WindowLimit } from "./window-limit.ts";

export interface ApprovalOptions {
  /** Undefined: an hour, or less where the plan or the policies allow less. */
  readonly minutes: number | undefined;
  readonly policy: WindowLimit;
  /** Given by an approver who has read the plan before. */
  readonly planHash: string | undefined;
}

/** What an approval writes: the fields of the decision, and the bindings that go with it. */
export interface Approval {
  readonly grant: AccessGrant;
  /** What is written: as the approver typed it. */
  readonly minutes: number;
  /** What the policies leave of it: so long the window is, as they are now. */
  readonly holds: number;
  /** The policies could not be read, so the window may be shorter. */
  readonly isUnseen: boolean;
  /** The decision is there already; only bindings may be missing. */
  readonly isDecided: boolean;
  /** Empty where the operator lends. */
  readonly bindings: readonly LentBinding[];
}

const DEFAULT_MINUTES = 60;

/**
 * Takes from the operator only who lends. The plan, its hash and the bindings follow from the frozen request alone, so
 * that a stolen operator cannot change what is approved.
 *
 * @throws FriendlyError when it cannot be approved; UsageError when it cannot be approved like this.
 */
export function approvalOf(grant: AccessGrant, options: ApprovalOptions, now: Date): Approval {
  const { spec, status, metadata } = grant;
  const conflict = (why: string): FriendlyError => new FriendlyError(why, { exitCode: CODES.conflict });
  const { name } = metadata;
  if (spec.deniedReason !== undefined) throw conflict(`${name} was denied`);
  if (metadata.deletionTimestamp !== undefined || spec.revokedReason !== undefined)
    throw conflict(`${name} was revoked`);
  if (FINAL_GRANT_STATES.some((state) => state === status?.state)) throw conflict(`${name} is over: ${status?.state}`);
  if (planHash(spec) !== spec.planHash)
    throw conflict(`${name} is not to be approved: its hash is not that of its plan`);
  if (options.planHash !== undefined && options.planHash !== spec.planHash) {
    throw conflict(`${name} is another plan than the one you cite: its hash is ${spec.planHash}`);
  }
  if (status?.state === undefined) {
    throw conflict(`the operator has not looked at ${name} yet; try again, or see whether it runs`);
  }
  const { minutes: allowed = Number.POSITIVE_INFINITY, isUnseen } = options.policy;
  const minutes = options.minutes ?? Math.min(DEFAULT_MINUTES, spec.maxMinutes, allowed);
  if (minutes > spec.maxMinutes) throw new UsageError(`--minutes may be ${spec.maxMinutes} at most for ${name}`);
  const isDecided = spec.approvedForMinutes !== undefined;
  const holds = Math.min(spec.approvedForMinutes ?? minutes, allowed);
  const bindings = bindingsOf(grant, holds, now);
  if (isDecided && bindings.length === 0)
    throw conflict(`${name} is approved already, by ${spec.decidedBy ?? "an unknown person"}`);
  return { grant, minutes, holds, isUnseen, isDecided, bindings };
}

/** The operator shows lines only where approvers lend. Of their text only `--role=` is read. */
function bindingsOf({ metadata, spec, status }: AccessGrant, minutes: number, now: Date): readonly LentBinding[] {
  const [shown] = status?.bindings ?? [];
  if (shown === undefined) return [];
  const account = grantAccount(metadata.uid);
  const place = {
    grantsNamespace: metadata.namespace ?? "",
    roleKind: shown.includes(" --role=") ? "Role" : "ClusterRole",
  };
  const end = new Date(now.getTime() + minutes * 60_000).toISOString().replace(/\.\d+Z$/, "Z");
  const marks = { labels: { [GRANT_UID_LABEL]: metadata.uid }, annotations: { [EXPIRES_AT_ANNOTATION]: end } };
  return rolesOfPlan(spec.commands, BUILT_IN).map((role) => lentBinding(role, account, place, marks));
}

/** What approving does. */
export function approvalText(approval: Approval): string {
  const { isDecided, bindings } = approval;
  const lines = [
    isDecided ? "It is approved already." : `Saying yes approves it for ${windowText(approval)}.`,
    ...(bindings.length > 0 ? ["These bindings are made as you, and removed when the grant is over:"] : []),
    ...bindings.map((binding) => `  ${placeOf(binding)}: ${binding.roleRef.name}, as ${binding.metadata.name}`),
  ];
  return textOf(lines);
}

/** How long it holds, as far as this person may know. */
export function windowText({ minutes, holds, isUnseen }: Approval): string {
  const unseen = isUnseen ? ", or less where the policies allow less: you may not read them (operationpolicies)" : "";
  return `${minutesText(minutes, holds)}${unseen}`;
}

/** An operation on nodes has its rights in no namespace. */
export function placeOf({ metadata: { namespace } }: LentBinding): string {
  return namespace === undefined ? "in the whole cluster" : `in ${namespace}`;
}

/**
 * The fields of the decision, with the hash of the shown plan and, for servers that do not stamp it, the approver's
 * name.
 */
export function decisionOf({ grant, minutes }: Approval, decidedBy: string | undefined): object {
  const { planHash: approvedPlanHash } = grant.spec;
  return { spec: { approvedForMinutes: minutes, approvedPlanHash, ...(decidedBy !== undefined && { decidedBy }) } };
}
