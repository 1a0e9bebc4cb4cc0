import type { OperationPolicy, OperationPolicySpec, PolicyDecision } from "../../crds/kinds/operation-policy.ts";
import { POLICY_DECISIONS } from "../../crds/kinds/operation-policy.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { isDebug, UNATTENDED_DEBUG } from "../../crds/operations/debug.ts";
import { isOfMachines } from "../../crds/operations/machines.ts";
import type { Tier } from "../../crds/plan.ts";
import { DELETE, isRelease, PRUNE, RELEASE_OPERATIONS, ROLLBACK } from "../../crds/released/releases.ts";

/** All OperationPolicies of the cluster, as one policy. */
export interface CustomerPolicy {
  readonly specs: readonly OperationPolicySpec[];
  /** Longest window that an approval opens; undefined: only the plan's own limit. */
  readonly maxWindowMinutes?: number;
  /** Whom a waiting request names for notification, sorted. */
  readonly notify: readonly string[];
}

/** For what no rule and no `defaults` names, of every tier. Also what holds while the customer has no policy at all. */
const UNSAID: PolicyDecision = "manual";

/**
 * Most restrictively: adding a policy to one that is there can only forbid more. So a policy that names nothing still
 * counts as manual, and a team cannot loosen another team's cluster by adding an object.
 */
export function mergePolicies(policies: readonly Pick<OperationPolicy, "spec">[]): CustomerPolicy {
  const specs = policies.map(({ spec }) => spec);
  const windows = specs.flatMap(({ maxWindowMinutes }) => maxWindowMinutes ?? []);
  const notify = [...new Set(specs.flatMap((spec) => spec.notify ?? []))].sort();
  return { specs, notify, ...(windows.length > 0 && { maxWindowMinutes: Math.min(...windows) }) };
}

/** What the customer says about `command` (`plugin/operation`) of `tier`. */
export function decisionFor(policy: CustomerPolicy, command: string, tier: Tier): PolicyDecision {
  if (policy.specs.length === 0) return command === ROLLBACK ? "auto" : UNSAID;
  const strictness = policy.specs.map((spec) => POLICY_DECISIONS.indexOf(decisionIn(spec, command, tier)));
  return POLICY_DECISIONS[Math.max(...strictness)] ?? "deny";
}

/** What one line of a plan, or one command, wants to do. */
export interface Wanted {
  readonly command: string;
  readonly tier: Tier;
  /** It works on an object that has no namespace. */
  readonly isClusterWide: boolean;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** A command with what the installation knows of it. */
export function wantedOf(commands: CommandTable, command: string, params: Wanted["params"]): Wanted {
  return { command, tier: commands.tierOf(command), isClusterWide: commands.isClusterWide(command), params };
}

/**
 * What the customer says about one command of one deployment. An operation of cluster scope reaches beyond the namespaces
 * that a deployment is accepted for: it needs an approved grant even if a rule says otherwise, and every policy must name it, this
 * deployment and, where objects are listed, this object.
 */
export function decisionOn(policy: CustomerPolicy, wanted: Wanted, deploymentId: string): PolicyDecision {
  const decision = decisionFor(policy, wanted.command, wanted.tier);
  if (decision === "deny" || !wanted.isClusterWide) return decision;
  return isOpened(policy, wanted, deploymentId) ? "manual" : "deny";
}

/** Why a line is held, approved or not, without the text of its params. Undefined when no policy forbids it. */
export function denialOf(policy: CustomerPolicy, wanted: Wanted, deploymentId: string): string | undefined {
  if (decisionOn(policy, wanted, deploymentId) !== "deny") return undefined;
  const { command, tier } = wanted;
  if (decisionFor(policy, command, tier) === "deny") return `the customer's policy denies ${command}`;
  return `the customer's policies do not open ${command} on its object to deployment ${deploymentId} (clusterOperations)`;
}

function isOpened({ specs }: CustomerPolicy, { command, params }: Wanted, deploymentId: string): boolean {
  const isNamed = ({ clusterOperations = [] }: OperationPolicySpec): boolean =>
    clusterOperations.some(
      ({ operation, deployments, names }) =>
        operation === command &&
        deployments.includes(deploymentId) &&
        (names === undefined || names.some((name) => name === params?.name)),
    );
  return specs.length > 0 && specs.every(isNamed);
}

/**
 * Inside one policy the most exact pattern decides; the order of rules has no meaning. A pattern with `*` and a default
 * of a tier were not written with a person inside the cluster in mind, nor with a whole node, nor with other software: for
 * debug sessions, machines and releases they may deny, and never say auto.
 */
function decisionIn(spec: OperationPolicySpec, command: string, tier: Tier): PolicyDecision {
  const { decision } = writtenIn(spec, command, tier);
  // When a rollout fails there is no time to ask: it goes back to what was allowed before, or it stays as it is.
  if (command === ROLLBACK) return decision === "deny" ? "deny" : "auto";
  if (decision !== "auto" || !needsItsName(command)) return decision;
  return isNamed(spec, decidedAs(spec, command)) && mayBeAuto(command) ? "auto" : "manual";
}

function isNamed(spec: OperationPolicySpec, command: string): boolean {
  return spec.rules?.some(({ pattern }) => pattern === command) === true;
}

/** A customer who forbids deletions and does not know of prunes has forbidden these too. */
function decidedAs(spec: OperationPolicySpec, command: string): string {
  return command === PRUNE && !isNamed(spec, PRUNE) ? DELETE : command;
}

function needsItsName(command: string): boolean {
  return isDebug(command) || isOfMachines(command) || isRelease(command);
}

function mayBeAuto(command: string): boolean {
  if (isDebug(command)) return UNATTENDED_DEBUG.includes(command);
  return isOfMachines(command) || RELEASE_OPERATIONS.some((known) => known.command === command);
}

/** What one policy has written for a command. */
export interface Written {
  readonly decision: PolicyDecision;
  /** Where, as the policy spells it. Undefined: nowhere. */
  readonly place?: string;
}

/** The most exact rule, else the default of the tier. What counts may be stricter: {@link decisionFor}. */
export function writtenIn(spec: OperationPolicySpec, command: string, tier: Tier): Written {
  const plugin = command.slice(0, command.indexOf("/"));
  for (const pattern of [decidedAs(spec, command), `${plugin}/*`, "*"]) {
    const matching = (spec.rules ?? []).filter((rule) => rule.pattern === pattern);
    // The API server refuses one pattern twice; should it be there all the same, the stricter counts.
    const strictest = Math.max(...matching.map(({ decision }) => POLICY_DECISIONS.indexOf(decision)));
    if (matching.length > 0) return { decision: POLICY_DECISIONS[strictest] ?? "deny", place: `rule ${pattern}` };
  }
  const byDefault = spec.defaults?.[tier];
  return byDefault === undefined ? { decision: UNSAID } : { decision: byDefault, place: `defaults.${tier}` };
}
