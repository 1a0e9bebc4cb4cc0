import { objectName } from "../../crds/group.ts";
import { type AccessGrant, accessGrants, MAX_REASON } from "../../crds/kinds/access-grant.ts";
import { type DebugSession, debugSessions } from "../../crds/kinds/debug-session.ts";
import { type OperationInvocation, operationInvocations } from "../../crds/kinds/operation-invocation.ts";
import { type OperationPolicy, operationPolicies } from "../../crds/kinds/operation-policy.ts";
import type { WindowState } from "../../operator/gate/release-windows.ts";
import { FriendlyError, UsageError } from "../kernel/command.ts";
import { CODES } from "./customer-cluster.ts";
import { decided } from "./decisions.ts";
import { grantNamed, rolloutNamed } from "./grants.ts";
import { openSessions, sessionsTable } from "./inside.ts";
import { foundByEach } from "./plan-targets.ts";
import { commandsWith } from "./plugin-commands.ts";
import { policyVerdict, requireCommand, verdictText, waitsForWindows } from "./policy-verdict.ts";
import { listed, requestsTable, waitingRequests } from "./requests.ts";
import { planText, shownPlan } from "./shown-plan.ts";
import { rolloutText, shownRollout } from "./shown-rollout.ts";
import { timelineOf, timelineTable } from "./timeline.ts";
import type { Answer, Asked, Verb } from "./verb.ts";

/** What is asked before a decision. */
export const LOOKS: readonly Verb[] = [
  { name: "requests", summary: "What waits for a decision, oldest first.", takes: [], answer: requests },
  {
    name: "watch",
    summary: "What waits for a decision, shown again when that changes, until Ctrl-C.",
    takes: [],
    answer: requests,
    follows: true,
  },
  {
    name: "show",
    summary: "A request and its plan, with what it would change of what runs now; or a release that waits.",
    takes: ["NAME"],
    answer: show,
  },
];

export const OTHERS: readonly Verb[] = [
  {
    name: "deny",
    summary: "Says no to a request.",
    takes: ["NAME"],
    flags: { reason: "required: why, in words that the vendor reads" },
    answer: (asked) => decide(asked, "deny"),
  },
  {
    name: "revoke",
    summary: "Ends an approved request at once. What is under way cannot be unsent.",
    takes: ["NAME"],
    flags: { reason: "required: why, in words that the vendor reads" },
    answer: (asked) => decide(asked, "revoke"),
  },
  {
    name: "timeline",
    summary: "Who asked, who decided, what ran as which account, with what result.",
    takes: ["NAME"],
    answer: timeline,
  },
  {
    name: "policy",
    summary: "What your policies say of a command, and which rule says so: policy test kubernetes/scale.",
    takes: ["test", "COMMAND"],
    flags: {
      deployment: "the deployment that asks: dep_…; for operations on nodes",
      params: "the command's parameters as JSON; for operations on nodes",
    },
    answer: policyTest,
  },
  { name: "inside", summary: "Debug sessions that are open: who, where, until when.", takes: [], answer: inside },
];

async function requests({ client, namespace, signal }: Asked): Promise<Answer> {
  const value = await waitingRequests(client, namespace, signal);
  return { value, text: (now) => requestsTable(value, namespace, now) };
}

async function show({ client, namespace, words: [id = ""], signal }: Asked): Promise<Answer> {
  const name = objectName(id);
  const grant = await client.get<AccessGrant>(accessGrants, { namespace, name }, signal);
  const rollout = await rolloutNamed(client, { namespace, id }, signal);
  // The platform chooses the names of both; `approve` takes the request.
  if (rollout !== undefined && grant !== undefined) {
    const why = `a request and a release are both named ${name}: kubectl get accessgrants,rollouts ${name} shows them`;
    throw new FriendlyError(`${why}. Approve neither`, { exitCode: CODES.conflict });
  }
  if (rollout !== undefined) {
    const value = shownRollout(rollout);
    return { value, text: () => rolloutText(value) };
  }
  if (grant === undefined) {
    throw new FriendlyError(`there is no request or release ${name} in ${namespace}`, { exitCode: CODES.notFound });
  }
  const value = shownPlan(grant, await foundByEach(client, grant.spec.commands, signal));
  return { value, text: () => planText(value) };
}

async function decide({ client, namespace, words: [id = ""], flags, signal }: Asked, act: "deny" | "revoke") {
  if (!flags.reason) throw new UsageError("--reason says why: the vendor reads it");
  const length = [...flags.reason].length;
  if (length > MAX_REASON) throw new UsageError(`--reason has ${length} characters: ${MAX_REASON} at most`);
  const grant = await grantNamed(client, { namespace, id }, signal);
  const written = await decided(client, grant, act, flags.reason, signal);
  const { name } = written.metadata;
  const by = act === "deny" ? written.spec.decidedBy : written.spec.revokedBy;
  const value = { name, decision: act === "deny" ? "denied" : "revoked", by: by ?? null };
  return { value, text: () => `${name} is ${value.decision}${by === undefined ? "" : ` by ${by}`}\n` };
}

async function timeline({ client, namespace, words: [id = ""], signal }: Asked): Promise<Answer> {
  const grant = await grantNamed(client, { namespace, id }, signal);
  const isOfGrant = ({ spec }: OperationInvocation | DebugSession): boolean => spec.grantName === grant.metadata.name;
  const invocations = await listed<OperationInvocation>(client, operationInvocations, namespace, signal);
  const sessions = await listed<DebugSession>(client, debugSessions, namespace, signal);
  const value = timelineOf({
    grant,
    invocations: invocations.filter(isOfGrant),
    sessions: sessions.filter(isOfGrant),
  });
  return { value, text: () => timelineTable(value) };
}

async function policyTest({ client, namespace, words, flags, signal, now }: Asked): Promise<Answer> {
  const [test, command = ""] = words;
  if (test !== "test") throw new UsageError(`there is no policy ${test}; there is policy test`);
  if (!/^[a-z0-9-]+\/[a-z0-9-]+$/.test(command)) throw new UsageError("a command is PLUGIN/OPERATION");
  requireCommand(command);
  const question = { command, params: paramsOf(flags.params), deploymentId: flags.deployment ?? "" };
  const policies = await listed<OperationPolicy>(client, operationPolicies, namespace, signal);
  const windows = waitsForWindows(command) ? await windowsOf(policies, now) : undefined;
  const value = policyVerdict(policies, question, await commandsWith(client, command, signal), windows);
  return { value, text: () => verdictText(value) };
}

/** Undefined: no policy has any, and any time is good. */
async function windowsOf(policies: readonly OperationPolicy[], now: Date): Promise<WindowState | undefined> {
  const specs = policies.map(({ spec }) => spec);
  if (specs.every(({ releaseWindows }) => releaseWindows === undefined)) return undefined;
  // Loaded here: the other commands have no use for schedules.
  const { windowState } = await import("../../operator/gate/release-windows.ts");
  return windowState(specs, now);
}

function paramsOf(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Told below, as any other value that is no object.
  }
  throw new UsageError('--params takes a JSON object, such as {"name":"node-1"}');
}

async function inside({ client, namespace, signal }: Asked): Promise<Answer> {
  const value = openSessions(await listed<DebugSession>(client, debugSessions, namespace, signal));
  return { value, text: () => sessionsTable(value, namespace) };
}
