import { createInterface } from "node:readline/promises";
import { systemClock } from "../../base/clock.ts";
import { accessGrants, MAX_MINUTES } from "../../crds/kinds/access-grant.ts";
import type { LentBinding } from "../../crds/kinds/lending.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { collectionPath } from "../../kube/objects/paths.ts";
import { resources } from "../../kube/objects/resource.ts";
import { type Command, FriendlyError, UsageError } from "../kernel/command.ts";
import { escaped } from "../kernel/output.ts";
import { type Approval, approvalOf, approvalText, decisionOf, placeOf, windowText } from "./approval.ts";
import { CLUSTER_FLAGS_HELP, CODES, inCluster, typed } from "./customer-cluster.ts";
import { grantNamed, ownName } from "./grants.ts";
import { foundByEach } from "./plan-targets.ts";
import { isAccepted, planText, shownPlan } from "./shown-plan.ts";
import { windowLimit } from "./window-limit.ts";

const help = (usage: string): string => `usage: ${usage} NAME [--minutes 60] [options]

For an approver in the customer's cluster: shows a request and its plan, asks, and approves it, with your own kubeconfig and
your own rights. Where approvers lend (lending.mode=approver), it also makes the bindings that the plan needs; they are taken
from the frozen request, not from what the operator shows. Called again, it makes those that are missing.

  --minutes N           how long it may run from the approval on, 1 to ${MAX_MINUTES}; default 60, or less where the request or your
                        policies allow less. Where your policies allow less than N, that holds, and is said before it asks
  --plan-hash HASH      the plan that you have read, sha256:…; another one is not approved
  --yes                 do not ask; a destructive plan then needs --plan-hash
${CLUSTER_FLAGS_HELP}  --help                this text

What it prints is for people: a script reads the exit code, and with timeline NAME -o json what came of it.

Exit codes:
  ${CODES.done}  approved, and lent where that is yours to do
  ${CODES.failed}  failed here
  ${CODES.usage}  called wrongly, or not answered with yes
  ${CODES.refused}  the API server does not allow it to you; nothing was done
  ${CODES.notFound}  no such request
  ${CODES.conflict}  it is decided, over, or not the plan that you cite
  ${CODES.unavailable}  the API server could not be reached or cannot answer now: call it again
`;

/** @param program `sallyport`, or `kubectl sallyport`: the same command under two names */
export function approveCommand(program: string): Command {
  const usage = `${program} approve`;
  return {
    name: "approve",
    summary: "Approves a request in the customer's cluster, with your own kubeconfig.",
    help: async () => help(usage),
    async run(args, signal) {
      const wanted = parsed(usage, args);
      return inCluster(wanted, (client) => approve(client, wanted, signal));
    },
  };
}

type Wanted = ReturnType<typeof parsed>;

async function approve(client: Client, wanted: Wanted, signal: AbortSignal): Promise<number> {
  const { namespace } = wanted;
  const grant = await grantNamed(client, wanted, signal);
  const { name } = grant.metadata;
  const policy = await windowLimit(client, namespace, signal);
  const approval = approvalOf(grant, { ...wanted, policy }, systemClock.wallNow());
  process.stdout.write(planText(shownPlan(grant, await foundByEach(client, grant.spec.commands, signal))));
  process.stdout.write(approvalText(approval));
  await consent(approval, wanted, signal);
  // A dry run of all bindings first, so that a missing right leaves nothing half-done.
  for (const binding of approval.bindings) await made(client, binding, "All", signal);
  if (!approval.isDecided) {
    const body = decisionOf(approval, await ownName(client, signal));
    await client.patch(accessGrants, { namespace, name }, { type: "merge", body }, {}, signal);
    const waits = isAccepted(grant)
      ? ""
      : "; it waits until its deployment is accepted: kubectl describe manageddeployments";
    process.stdout.write(`${name} is approved for ${windowText(approval)}${waits}\n`);
  }
  for (const binding of approval.bindings) {
    await made(client, binding, undefined, signal);
    process.stdout.write(`${binding.roleRef.name} is lent ${placeOf(binding)}\n`);
  }
  return CODES.done;
}

async function consent({ grant }: Approval, { yes, planHash }: Wanted, signal: AbortSignal): Promise<void> {
  if (yes) {
    const uncited = grant.spec.risk === "destructive" && planHash === undefined;
    if (uncited)
      throw new UsageError("--yes to a destructive plan needs --plan-hash, the hash of the plan you have read");
    return;
  }
  if (!process.stdin.isTTY) throw new UsageError("there is no terminal to ask on: read the plan, then add --yes");
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question("Approve? Type yes: ", { signal });
    if (answer.trim() !== "yes") throw new UsageError("not approved; nothing was done");
  } finally {
    terminal.close();
  }
}

/**
 * A binding that exists already counts as made: its name says its role and account, and the operator checks the rest.
 */
async function made(
  client: Client,
  binding: LentBinding,
  dryRun: "All" | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { namespace } = binding.metadata;
  const isOfCluster = namespace === undefined;
  const path = collectionPath(isOfCluster ? resources.clusterRoleBindings : resources.roleBindings, namespace);
  try {
    await client.exchange.json({ method: "POST", path, query: { dryRun }, body: binding }, signal);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.isAlreadyExists) return;
    if (!error.isForbidden) throw error;
    const how = isOfCluster ? "ask who administers the cluster" : "bind sallyport-lender there to a group of yours";
    const what = `you may not lend ${binding.roleRef.name} ${placeOf(binding)}: ${how}`;
    throw new FriendlyError(escaped(`${what} (${error.message})`, ""), { cause: error, exitCode: CODES.refused });
  }
}

const OPTIONS = {
  minutes: { type: "string" },
  "plan-hash": { type: "string" },
  yes: { type: "boolean", default: false },
} as const;

function parsed(usage: string, args: readonly string[]) {
  const { values, positionals } = typed(usage, args, OPTIONS);
  const [id, ...more] = positionals;
  const wrong = (why: string): UsageError => new UsageError(`${why}. See ${usage} --help`);
  if (id === undefined || more.length > 0) throw wrong("it takes the name of one request");
  const { minutes, yes, namespace, context, kubeconfig } = values;
  if (minutes !== undefined && !(/^[1-9]\d{0,4}$/.test(minutes) && Number(minutes) <= MAX_MINUTES)) {
    throw wrong(`--minutes takes a whole number from 1 to ${MAX_MINUTES}`);
  }
  return {
    id,
    yes,
    namespace,
    context,
    kubeconfig,
    minutes: minutes === undefined ? undefined : Number(minutes),
    planHash: values["plan-hash"],
  };
}
