import type { OperationPolicy, PolicyDecision } from "../../crds/kinds/operation-policy.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import type { Tier } from "../../crds/plan.ts";
import { isRelease, RELEASE_OPERATIONS, ROLLBACK } from "../../crds/released/releases.ts";
import {
  type CustomerPolicy,
  decisionOn,
  mergePolicies,
  type Wanted,
  wantedOf,
  writtenIn,
} from "../../operator/gate/policy.ts";
import type { WindowState } from "../../operator/gate/release-windows.ts";
import { UsageError } from "../kernel/command.ts";
import { escaped } from "../kernel/output.ts";

/** What the customer's policies say of a command, and why. */
export interface PolicyVerdict {
  readonly command: string;
  readonly tier: Tier;
  readonly decision: PolicyDecision;
  /** What that means for a request. */
  readonly means: string;
  /** What each policy says alone. */
  readonly policies: readonly PolicyWord[];
  /** Of releases, now. Null: they do not hold this command up, or nothing lets it run. */
  readonly windows: WindowsWord | null;
}

interface WindowsWord {
  readonly isOpen: boolean;
  /** While they are closed: when they open next. Null: never, as far as is known. */
  readonly opensAt: string | null;
  readonly problem: string | null;
}

interface PolicyWord {
  readonly name: string;
  readonly decision: PolicyDecision;
  /** The policy's words that it follows from. */
  readonly because: string;
}

const MEANS: Readonly<Record<PolicyDecision, string>> = {
  auto: "it runs by itself, without an approval",
  manual: "it waits for an approval",
  deny: "it never runs, approved or not",
};

const UNKNOWN =
  "it never runs: this version of Sallyport has no such command, and no role shows that the install values enable it as a plugin's";

/** Releases have no plugin: no install value makes another command of them. @throws UsageError for one that is none */
export function requireCommand(command: string): void {
  if (!isRelease(command) || RELEASE_OPERATIONS.some((each) => each.command === command)) return;
  const known = RELEASE_OPERATIONS.map((each) => each.command).join(", ");
  throw new UsageError(`there is no command ${command}; those of releases are ${known}`);
}

/** What is asked of the policies. */
interface Question {
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly deploymentId: string;
}

/** The way back of a rollout that failed waits for no window. */
export function waitsForWindows(command: string): boolean {
  return isRelease(command) && command !== ROLLBACK;
}

/**
 * By the operator's own decision, so that the two cannot differ.
 *
 * @param windows of all policies together; undefined: they do not hold this command up.
 */
export function policyVerdict(
  policies: readonly Pick<OperationPolicy, "metadata" | "spec">[],
  { command, params, deploymentId }: Question,
  commands: CommandTable,
  windows: WindowState | undefined,
): PolicyVerdict {
  const wanted = wantedOf(commands, command, params);
  const decide = (policy: CustomerPolicy) => decisionOn(policy, wanted, deploymentId);
  const decision = decide(mergePolicies(policies));
  return {
    command,
    tier: wanted.tier,
    decision,
    means: commands.isKnown(command) ? MEANS[decision] : UNKNOWN,
    policies: policies.map((policy) => {
      const said = decide(mergePolicies([policy]));
      return { name: policy.metadata.name, decision: said, because: becauseOf(policy, wanted, said) };
    }),
    windows: windows === undefined || decision === "deny" ? null : windowsWord(windows),
  };
}

function windowsWord({ isOpen, opensAt, problem }: WindowState): WindowsWord {
  return { isOpen, opensAt: opensAt?.toISOString() ?? null, problem: problem ?? null };
}

function becauseOf({ spec }: Pick<OperationPolicy, "spec">, wanted: Wanted, said: PolicyDecision): string {
  const { command, tier } = wanted;
  const { decision, place } = writtenIn(spec, command, tier);
  const words = place === undefined ? `no rule names it, and no default ${tier}` : `${place}: ${decision}`;
  if (said === decision) return words;
  if (wanted.isClusterWide && said === "deny") {
    return `${words}, but clusterOperations does not name it for that deployment and object`;
  }
  return `${words}, which does not count for ${command}`;
}

export function verdictText({ command, tier, decision, means, policies, windows }: PolicyVerdict): string {
  const lines = [
    `${command} (${tier}): ${decision}, ${means}`,
    ...(windows === null ? [] : windowLines(windows)),
    ...policies.map((policy) => `  ${policy.name}: ${policy.decision} (${policy.because})`),
    ...(policies.length === 0 ? ["  there is no OperationPolicy"] : []),
  ];
  return escaped(`${lines.join("\n")}\n`, "\n");
}

function windowLines({ isOpen, opensAt, problem }: WindowsWord): readonly string[] {
  const next = opensAt === null ? "none opens" : `the next opens at ${opensAt}`;
  const said = isOpen ? "a window for releases is open now" : `but no window for releases is open now: ${next}`;
  return [`  ${said}`, ...(problem === null ? [] : [`  ${problem}`])];
}
