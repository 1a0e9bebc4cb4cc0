import { type Command, UsageError } from "../../kernel/command.ts";
import { parsedDuration } from "../../kernel/duration.ts";
import { givenText } from "../../kernel/given/given-file.ts";
import { escaped, formatOf, render, Table } from "../../kernel/output.ts";
import { watch } from "../../kernel/watch.ts";
import { areaHelp } from "../area-help.ts";
import { type CallRoute, type Surroundings, signedIn } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import type { Typed } from "../typed.ts";
import type { Area } from "../verbs.ts";
import { askCustomer, followWish, inventoryOf, tellRequest, type Wish } from "./following.ts";
import { joinLine, NEXT_STEPS, usableFields } from "./join-line.ts";
import { machineTyped, secondsOf } from "./machine-flags.ts";
import { whyOf } from "./machine-words.ts";
import { machinesHelp } from "./machines-help.ts";
import { listTokens, mintToken, revokeToken } from "./tokens.ts";

const MACHINE = ["DEPLOYMENT", "MACHINE"];
/** The words after each verb. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  list: ["DEPLOYMENT"],
  "token create": ["DEPLOYMENT"],
  "token list": ["DEPLOYMENT"],
  "token rotate": ["DEPLOYMENT"],
  "token revoke": ["DEPLOYMENT", "TOKEN"],
  drain: MACHINE,
  cancel: MACHINE,
  remove: MACHINE,
  join: ["FILE"],
};

/** The verbs of `machines` that are more than one call, or have a shorter name than their route. */
export const MACHINE_VERBS: readonly string[] = Object.keys(WORDS);

/** `machines`: tokens whose secret is never in a line to paste, and drains that say who is in their way. */
export function machinesCommand(area: Area, plain: Command, surroundings: Surroundings): Command {
  return {
    ...plain,
    async help(args) {
      const verb = verbOf(args);
      if (verb !== undefined) return machinesHelp(verb, summaryOf(area, verb));
      // A verb of ours that is named as its route is in the first part.
      const others = area.verbs.filter(({ words }) => !Object.hasOwn(WORDS, words));
      return args.length === 0 ? `${machinesHelp("", "")}\n${areaHelp({ ...area, verbs: others })}` : plain.help(args);
    },
    async run(args, signal) {
      const verb = verbOf(args);
      if (verb === undefined) return plain.run(args, signal);
      const typed = machineTyped(verb, args.slice(verb.split(" ").length), WORDS[verb] ?? []);
      if (verb === "join") return printLine(typed, surroundings);
      const flags = { profile: typed.text("profile"), workspace: typed.text("workspace") };
      return signedIn(surroundings, flags, signal, (call) => run(verb, typed, surroundings, call, signal));
    },
  };
}

function verbOf(args: readonly string[]): string | undefined {
  const [first = "", second = ""] = args;
  return [`${first} ${second}`, first].find((words) => Object.hasOwn(WORDS, words));
}

/** Of the call that a verb is about, where it has the same name. */
function summaryOf({ verbs }: Area, verb: string): string {
  return verbs.find(({ words, aliases }) => words === verb || aliases.includes(verb))?.route.summary ?? "";
}

async function run(
  verb: string,
  typed: Typed,
  surroundings: Surroundings,
  call: CallRoute,
  signal: AbortSignal,
): Promise<number> {
  switch (verb) {
    case "list":
      return list(typed, surroundings, call, signal);
    case "token create":
    case "token rotate":
      await mintToken(verb === "token create" ? "create" : "rotate", typed, surroundings, call, signal);
      return EXIT_CODES.done.code;
    case "token list":
      await listTokens(typed, surroundings, call, signal);
      return EXIT_CODES.done.code;
    case "token revoke":
      await revokeToken(typed, surroundings, call, signal);
      return EXIT_CODES.done.code;
    case "drain":
    case "remove":
      return wish(verb, typed, surroundings, call, signal);
    default:
      return cancel(typed, surroundings, call, signal);
  }
}

async function list(typed: Typed, surroundings: Surroundings, call: CallRoute, signal: AbortSignal): Promise<number> {
  const format = formatOf(typed.text("output"));
  const read = async (): Promise<string> => {
    const inventory = await inventoryOf(typed.words[0] ?? "", call, signal);
    if (format !== "table") return render(inventory, format);
    const rows = inventory.machines.map((machine) => {
      const { machineId: id, status, capacityGroup: group, zone, replicaCount: pods, lastHeartbeat } = machine;
      return { id, status, group, zone, pods, lastHeartbeat, why: whyOf(machine) };
    });
    const table = new Table(["id", "status", "group", "zone", "pods", "lastHeartbeat", "why"]).lines(rows);
    return `${table === "" ? "(none)\n" : table}${serverWords(inventory.joinServer)}\n`;
  };
  if (typed.has("watch")) return watch(read, { ...surroundings, format }, signal);
  surroundings.out(await read());
  return EXIT_CODES.done.code;
}

function serverWords(server: Awaited<ReturnType<typeof inventoryOf>>["joinServer"]): string {
  if (server === null) return "no join server: no machine can join";
  const words = `machines join at ${server.url}, key ${server.pins[0]}`;
  return escaped(server.stale ? `${words}: silent since ${server.reportedAt}, so that none can join` : words, "");
}

/** A drain or a removal: wished, asked of the customer where a reason for it was given, and followed. */
async function wish(
  act: Wish["act"],
  typed: Typed,
  surroundings: Surroundings,
  call: CallRoute,
  signal: AbortSignal,
): Promise<number> {
  const { out, error } = surroundings;
  const [deploymentId = "", machineId = ""] = typed.words;
  const reason = typed.text("reason");
  if (reason !== undefined && reason.length < 10) {
    throw new UsageError("--reason is for the customer: at least ten characters");
  }
  const timeout = typed.text("timeout");
  const timeoutMs = timeout === undefined ? Number.POSITIVE_INFINITY : parsedDuration("--timeout", timeout);
  const format = formatOf(typed.text("output"));
  const body = act === "drain" ? drainBody(typed) : undefined;
  const answer = await call("machines", act, { params: { id: deploymentId, machineId }, query: {}, body }, signal);
  const wished = { act, deploymentId, machineId };
  const requestId =
    reason === undefined ? undefined : await askCustomer(wished, reason, typed.has("accept-stale"), call, signal);
  if (!typed.has("watch")) {
    if (requestId !== undefined) await tellRequest(requestId, surroundings, call, signal);
    out(await render({ ...(answer as object), ...(requestId !== undefined && { requestId }) }, format));
    if (requestId === undefined) error(`where the customer's policy asks for an approval: --reason TEXT asks for it\n`);
    return EXIT_CODES.done.code;
  }
  const code = await followWish(wished, requestId, timeoutMs, surroundings, call, signal);
  const { machines } = await inventoryOf(deploymentId, call, signal);
  const machine = machines.find((each) => each.machineId === machineId);
  out(await render(machine ?? { machineId, status: "removed" }, format));
  return code;
}

function drainBody(typed: Typed): object {
  const deadlineSeconds = secondsOf(typed, "deadline", 0);
  return { ...(deadlineSeconds !== undefined && { deadlineSeconds }), ...(typed.has("force") && { force: true }) };
}

async function cancel(typed: Typed, { out }: Surroundings, call: CallRoute, signal: AbortSignal): Promise<number> {
  const [id = "", machineId = ""] = typed.words;
  const values = { params: { id, machineId }, query: {}, body: undefined };
  out(await render(await call("machines", "cancelDrain", values, signal), formatOf(typed.text("output"))));
  return EXIT_CODES.done.code;
}

/** `machine join`: the line for a join string that came by another way. It asks no platform. */
async function printLine(typed: Typed, { out, error, clock, readInput }: Surroundings): Promise<number> {
  const [file = "-"] = typed.words;
  const text = file === "-" ? await readInput() : await givenText(file);
  const fields = usableFields(text, clock.wallNow());
  const format = formatOf(typed.text("output"));
  const line = joinLine(fields);
  const expiresAt = new Date(fields.exp * 1000).toISOString();
  if (format === "table") out(`${line}\n`);
  else out(await render({ line, url: fields.url, pin: fields.pin, clusterId: fields.clusterId, expiresAt }, format));
  error(NEXT_STEPS);
  return EXIT_CODES.done.code;
}
