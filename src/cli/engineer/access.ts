import { randomUUID } from "node:crypto";
import { type Clock, sleep } from "../../base/clock.ts";
import type { AccessRequestWithApproval } from "../../contract/access-requests/access-requests.ts";
import type { Deployment } from "../../contract/deployments/deployment.ts";
import { APPROVE_LINE, pastedLine } from "../../contract/wire/pasted-line.ts";
import { type Command, FriendlyError, UsageError } from "../kernel/command.ts";
import { parsedDuration } from "../kernel/duration.ts";
import { escaped, render } from "../kernel/output.ts";
import { findVerb, type VerbArguments, verbArguments } from "./area-command.ts";
import { describeFlag } from "./area-help.ts";
import { type CallRoute, type Surroundings, signedIn } from "./calling.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { type CallValues, callValues } from "./values.ts";
import type { Area, Flag, Verb } from "./verbs.ts";

const text = (name: string, description: string): Flag => ({
  name,
  property: name,
  places: ["body"],
  schema: { type: "string", description },
  required: false,
});
const TIMEOUT = text("timeout", "stop following after this time, such as 30m; exit code 9");
const FOLLOW: readonly Flag[] = [
  { ...text("wait", "follow it until it is decided and run"), schema: { type: "boolean" } },
  TIMEOUT,
];
/** Flags for a plan of one line without a file. */
const ONE_LINE: readonly Flag[] = [
  text("command", "a plan of one line: its operation, such as kubernetes/scale"),
  text("summary", "what that line does, for the customer; default: the title"),
  { ...text("params", "its params"), schema: { type: "object", description: "its params" } },
];
/** Goes with the second call, which queues the plan. */
const ACCEPT_STALE: Flag = {
  ...text("accept-stale", ""),
  property: "acceptStale",
  schema: {
    type: "boolean",
    description: "send a destructive plan though the resources were last observed more than 180 s ago",
  },
};
const OWN = [...FOLLOW, ...ONE_LINE, ACCEPT_STALE].map(({ property }) => property);

/** The verbs of `access-requests` that are more than one call. */
export const ACCESS_VERBS: readonly string[] = ["request", "wait"];

/** `access-requests` with {@link ACCESS_VERBS}. */
export function accessCommand(area: Area, plain: Command, surroundings: Surroundings): Command {
  const create = findVerb(area, ["create"])?.verb;
  if (create === undefined) return plain;
  const verb = requestVerb(create);
  return {
    ...plain,
    async help(args) {
      if (args[0] === "request") return requestHelp(verb);
      if (args[0] === "wait")
        return "usage: sallyport access wait ID [--timeout 30m]\n\nFollows a request until it is decided and run.\n";
      return `${await plain.help(args)}\nsallyport access request and sallyport access wait follow a request: see their --help.\n`;
    },
    async run(args, signal) {
      const [word, ...rest] = args;
      if (word === "request") return request(verb, rest, surroundings, signal);
      if (word === "wait") return waitFor(rest, surroundings, signal);
      return plain.run(args, signal);
    },
  };
}

/** `create` with defaults for the fields that a person would have to invent, and flags for a plan of one line. */
function requestVerb(create: Verb): Verb {
  const optional = ["commands", "remediationPlanId"];
  const flags = create.flags.map((flag) => (optional.includes(flag.property) ? { ...flag, required: false } : flag));
  return { ...create, flags: [...flags, ...ONE_LINE, ACCEPT_STALE, ...FOLLOW] };
}

function requestHelp({ flags }: Verb): string {
  return `usage: sallyport access request --deployment ID --title TEXT --command PLUGIN/OPERATION [--params KEY=VALUE]… [--wait]
       sallyport access request --deployment ID --title TEXT --file PLAN.yaml [--wait]

Proposes a plan and queues it: from then on the customer can decide. PLAN.yaml holds the fields of the request, such as
commands: [{command, summary, params}].

${flags.map(describeFlag).join("\n")}

With --wait it exits with 0 when all of the plan has run, with ${EXIT_CODES.notRun.code} when it was rejected, has expired or failed.
`;
}

async function request(
  verb: Verb,
  args: readonly string[],
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const given = verbArguments("access request", verb.flags, args);
  const values = await callValues(verb, given, () => surroundings.readInput());
  const fields = values.body as Readonly<Record<string, unknown>>;
  planOf(fields);
  return signedIn(surroundings, given, signal, async (call) => {
    const { fitParams, schemaOf } = await import("./params/fitted-params.ts");
    const schema = () =>
      schemaOf(String(fields.command), () => projectOf(fields.deploymentId, call, signal), call, signal);
    const params = await fitParams(fields.params, values.words?.params, schema);
    const body = planOf({ ...fields, ...(params !== undefined && { params }) });
    const { id } = (await call(verb.area, "create", { ...values, body }, signal)) as AccessRequestWithApproval;
    const acceptStale = given.texts[ACCEPT_STALE.name]?.[0] === "true";
    const queue: CallValues = { ...byId(id), body: acceptStale ? { acceptStale } : undefined };
    const queued = await call(verb.area, "queue", queue, signal).catch((error: unknown) => {
      surroundings.error(`${escaped(id, "")} is proposed and not queued\n`);
      throw error;
    });
    if (given.texts.wait?.[0] !== "true") {
      surroundings.out(await render(queued, given.format));
      return EXIT_CODES.done.code;
    }
    return followed(id, call, given, surroundings, signal);
  });
}

async function projectOf(deploymentId: unknown, call: CallRoute, signal: AbortSignal): Promise<string> {
  const { projectId } = (await call("deployments", "get", byId(String(deploymentId)), signal)) as Deployment;
  return projectId;
}

/** The request's fields as the API has them. @throws UsageError without a plan */
function planOf(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { command, summary, params, ...typed } = fields;
  const body = Object.fromEntries(Object.entries(typed).filter(([name]) => !OWN.includes(name)));
  const line = { command, summary: summary ?? body.title, ...(params !== undefined && { params }) };
  const commands = command === undefined ? body.commands : [line];
  if (commands === undefined) throw new UsageError("what to run: --command PLUGIN/OPERATION, or commands in --file");
  return { remediationPlanId: `cli-${randomUUID()}`, ...body, commands };
}

async function waitFor(args: readonly string[], surroundings: Surroundings, signal: AbortSignal): Promise<number> {
  const given = verbArguments("access wait", [TIMEOUT], args);
  const [id, ...more] = given.positionals;
  if (id === undefined || more.length > 0) throw new UsageError("usage: sallyport access wait ID [--timeout 30m]");
  return signedIn(surroundings, given, signal, (call) => followed(id, call, given, surroundings, signal));
}

const POLL_MS = 2_000;

/** Prints each change on standard error; returns the request as it ended. */
async function followed(
  id: string,
  call: CallRoute,
  given: VerbArguments,
  { clock, out, error }: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const endsMs = deadlineOf(given, clock);
  let told = "";
  for (;;) {
    const now = (await call("accessRequests", "get", byId(id), signal)) as AccessRequestWithApproval;
    const words = await toldOf(now, call, signal);
    if (words !== told) error(`${words}\n`);
    told = words;
    const ended = endOf(now);
    if (ended !== undefined) {
      out(await render(now, given.format));
      return ended;
    }
    if (clock.monotonicMs() + POLL_MS > endsMs) {
      throw new FriendlyError(
        `${id} is still ${now.status}: ${pastedLine`sallyport access wait ${id}` ?? "waiting"} goes on`,
        {
          exitCode: EXIT_CODES.timeout.code,
        },
      );
    }
    await sleep(clock, POLL_MS, signal);
  }
}

function deadlineOf({ texts }: VerbArguments, clock: Clock): number {
  const timeout = texts.timeout?.[0];
  return timeout === undefined ? Number.POSITIVE_INFINITY : clock.monotonicMs() + parsedDuration("--timeout", timeout);
}

/** Undefined: the request is not over. */
function endOf({ status, execution }: AccessRequestWithApproval): number | undefined {
  if (status === "rejected" || status === "expired") return EXIT_CODES.notRun.code;
  if (execution.state === "succeeded") return EXIT_CODES.done.code;
  return execution.state === "failed" || execution.state === "stopped" ? EXIT_CODES.notRun.code : undefined;
}

/** How a request stands, for standard error; nothing in it controls the terminal. */
export async function toldOf(now: AccessRequestWithApproval, call: CallRoute, signal: AbortSignal): Promise<string> {
  return escaped([progress(now), ...(await refusalOf(now, call, signal))].join("\n"), "\n");
}

function progress({ id, status, kubectlApprove, decision, execution }: AccessRequestWithApproval): string {
  const why = decision?.reason == null ? "" : `: ${escaped(decision.reason, "")}`;
  const by = decision === null ? "" : `, ${decision.outcome}${deciderOf(decision)}${why}`;
  const lines = execution.commands.map(({ index, command, state }) => `  ${index + 1}. ${command} ${state}`);
  const approve = isApproveLine(kubectlApprove) ? [`  the customer approves with: ${kubectlApprove}`] : [];
  return [`${id}: ${status}${by}`, ...(status === "customer-approved" ? lines : approve)].join("\n");
}

/** A request also ends without a person's word: no decision came in time, or its grant was deleted. An approval has one always. */
function deciderOf({ outcome, by, identity }: NonNullable<AccessRequestWithApproval["decision"]>): string {
  if (by === null) return outcome === "approved" ? " by an unknown person" : "";
  return ` by ${by} (${identity})`;
}

/** Why the agent does not show a queued request to the customer: what it reports of operations on the deployment. */
async function refusalOf(
  { status, kubectlApprove, deploymentId }: AccessRequestWithApproval,
  call: CallRoute,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (status !== "queued" || kubectlApprove !== null) return [];
  const { capabilities } = (await call("deployments", "get", byId(deploymentId), signal)) as Deployment;
  const operations = capabilities?.find(({ key }) => key === "operations");
  if (operations?.state !== "denied" || operations.detail == null) return [];
  // One line, so that text from a cluster cannot look like a line of this program.
  return [`  ${escaped(operations.detail, "")}`];
}

const approveLine = new RegExp(APPROVE_LINE, "u");

/** The engineer hands the line to the customer, who pastes it: it is shown only if it can do nothing but approve. */
function isApproveLine(line: string | null): line is string {
  return line !== null && approveLine.test(line);
}

function byId(id: string): CallValues {
  return { params: { id }, query: {}, body: undefined };
}
