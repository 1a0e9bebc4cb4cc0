import { DEBUG_MODES, type DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import { pastedLine } from "../../../contract/wire/pasted-line.ts";
import { newSessionKey } from "../../../debug-link/session-key.ts";
import { type Command, FriendlyError, UsageError } from "../../kernel/command.ts";
import { formatOf, render } from "../../kernel/output.ts";
import { type CallRoute, calling, type Surroundings } from "../calling.ts";
import { session as signIn } from "../session.ts";
import { type Flags, SESSION_FLAGS, type Typed, typedOf } from "../typed.ts";
import type { Area } from "../verbs.ts";
import { approvedBy, askCustomer, askPlatform, followed, modeIsOff } from "./asking.ts";
import { debugHelp } from "./debug-help.ts";
import { forget, type Kept, keep, kept, requireId, type Wanted } from "./kept-session.ts";
import { serveSession } from "./live-session.ts";
import { fetchRecording } from "./recording.ts";
import { download, verifyFile } from "./session-files.ts";

/** The verbs of `debug-sessions` that are more than one call. */
export const DEBUG_VERBS: readonly string[] = ["open", "attach", "status", "stop", "audit", "recording", "verify"];

const PRINT = { "print-kubeconfig": { type: "boolean" } } as const;
const OPEN = {
  ...PRINT,
  namespace: { type: "string", short: "n" },
  mode: { type: "string" },
  minutes: { type: "string" },
  reason: { type: "string" },
  port: { type: "string", multiple: true },
  selector: { type: "string" },
  request: { type: "string" },
  auto: { type: "boolean" },
  wait: { type: "boolean" },
  "accept-stale": { type: "boolean" },
} as const;
const FLAGS: Readonly<Record<string, Flags>> = {
  open: OPEN,
  attach: { ...PRINT, "accept-new-tunnel": { type: "string" } },
  audit: { to: { type: "string" } },
  recording: { to: { type: "string" } },
  verify: { head: { type: "string" } },
};

/** `debug`: sessions in a customer's cluster. `list` and the other single calls are those of the area. */
export function debugCommand(_area: Area, plain: Command, surroundings: Surroundings): Command {
  return {
    ...plain,
    async help(args) {
      const [verb] = args;
      const own = debugHelp(verb);
      if (own !== undefined) return own;
      return verb === undefined ? `${debugHelp("") ?? ""}\n${await plain.help(args)}` : plain.help(args);
    },
    async run(args, signal) {
      const [verb = "", ...rest] = args;
      if (!DEBUG_VERBS.includes(verb)) return plain.run(args, signal);
      return run(verb, typedOf(`debug ${verb}`, rest, { ...SESSION_FLAGS, ...FLAGS[verb] }), surroundings, signal);
    },
  };
}

async function run(verb: string, typed: Typed, surroundings: Surroundings, signal: AbortSignal): Promise<number> {
  const [id, ...more] = typed.words;
  if (more.length > 0) throw new UsageError(`too many words: ${more.join(" ")}`);
  if (verb === "verify") return verifyFile(id, typed.text("head"), surroundings);
  if (verb === "open") return open(id, typed, surroundings, signal);
  const sessionId = requireId("dbg", id);
  const newTunnelKey = newTunnelKeyOf(typed);
  const kept = verb === "attach" ? await keptFor(sessionId, typed, surroundings) : undefined;
  return within(typed, surroundings, signal, async (call, platformUrl) => {
    if (kept !== undefined) {
      const printKubeconfig = typed.has("print-kubeconfig");
      const options = { id: sessionId, kept, platformUrl, printKubeconfig, newTunnelKey };
      return serveSession(options, surroundings, call, signal);
    }
    const values = { params: { id: sessionId }, query: {}, body: undefined };
    if (verb === "stop") {
      await call("debugSessions", "patch", { ...values, body: { state: "stopping" } }, signal);
      await forget(surroundings.env, sessionId);
    }
    const session = (await call("debugSessions", "get", values, signal)) as DebugSession;
    if (verb === "recording") return fetchRecording(session, typed.text("to"), surroundings, signal);
    if (verb === "audit") await download(session, verb, typed.text("to"), surroundings, signal);
    else surroundings.out(await render(await statusOf(session, call, signal), formatOf(typed.text("output"))));
    return 0;
  });
}

async function within(
  typed: Typed,
  { env, clock }: Surroundings,
  signal: AbortSignal,
  work: (call: CallRoute, platformUrl: string) => Promise<number>,
): Promise<number> {
  const flags = { profile: typed.text("profile"), workspace: typed.text("workspace") };
  const signedIn = await signIn(env, flags, clock, signal);
  return calling(signedIn, (call) => work(call, signedIn.url));
}

function keptFor(id: string, typed: Typed, { env, runShell }: Surroundings): Promise<Kept> {
  requireShell(typed, runShell);
  return kept(env, id);
}

function newTunnelKeyOf(typed: Typed): string | undefined {
  const key = typed.text("accept-new-tunnel");
  if (key === undefined || /^[A-Za-z0-9_-]{43}$/.test(key)) return key;
  throw new UsageError("--accept-new-tunnel is the key that the customer reads out: 43 characters");
}

function requireShell(typed: Typed, runShell: Surroundings["runShell"]): void {
  if (typed.has("print-kubeconfig") || runShell !== undefined) return;
  throw new UsageError("there is no terminal for a shell: --print-kubeconfig");
}

/** Asks the customer, unless that was done before or is not needed; then serves the session. */
async function open(
  deployment: string | undefined,
  typed: Typed,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const { env, clock, out, error } = surroundings;
  const [request, isAuto, waits] = [typed.text("request"), typed.has("auto"), typed.has("wait")];
  if (request !== undefined && isAuto) throw new UsageError("--request and --auto exclude each other");
  if (request !== undefined || isAuto || waits) requireShell(typed, surroundings.runShell);
  const asked =
    request === undefined
      ? { ...wantedOf(deployment, typed), key: newSessionKey("sallyport engineer", clock.wallNow()) }
      : await kept(env, requireId("ar", request));
  return within(typed, surroundings, signal, async (call, platformUrl) => {
    const off = request === undefined ? await modeIsOff(asked, call, signal) : undefined;
    if (off !== undefined) error(`${off}\n`);
    const requestId =
      request ?? (isAuto ? undefined : await askCustomer(asked, typed.has("accept-stale"), call, signal));
    if (requestId !== undefined) {
      await keep(env, requireId("ar", requestId), asked);
      // A platform that asks in this engineer's name has another key: the approver hears this one by phone.
      error(`key, for the approver to compare with clientKey: ${asked.key.pin}\n`);
      if (!(await followed(requestId, waits || request !== undefined, surroundings, call, signal))) {
        const line = pastedLine`sallyport debug open --request ${requestId}`;
        out(`${line ?? requestId}\n`);
        error("once the customer has approved, that line opens the session\n");
        return 0;
      }
    }
    const { session, ticket } = await askPlatform(asked, requestId, call, signal);
    const id = requireId("dbg", session.id);
    await keep(env, id, asked);
    const printKubeconfig = typed.has("print-kubeconfig");
    const options = { id, requestId, kept: asked, ticket, platformUrl, printKubeconfig };
    return serveSession(options, surroundings, call, signal);
  });
}

/** @throws UsageError; the platform judges the values */
function wantedOf(deploymentId: string | undefined, typed: Typed): Wanted {
  const [namespace, reason, selector] = [typed.text("namespace"), typed.text("reason"), typed.text("selector")];
  const mode = DEBUG_MODES.find((each) => each === typed.text("mode"));
  if (deploymentId === undefined || namespace === undefined || reason === undefined) {
    throw new UsageError("DEPLOYMENT, --namespace and --reason must be given");
  }
  if (!deploymentId.startsWith("dep_")) {
    throw new UsageError("DEPLOYMENT is an id such as dep_…: sallyport deployments list has it");
  }
  if (reason.length < 10) throw new UsageError("--reason is for the customer: at least ten characters");
  if (mode === undefined) throw new UsageError(`--mode is one of ${DEBUG_MODES.join(", ")}`);
  const ports = typed.texts("port").map((text) => numberOf("--port", text, 65_535));
  if (ports.length > 0 && mode !== "port-forward") throw new UsageError("--port is for --mode port-forward");
  return {
    ...{ deploymentId, namespace, mode, reason },
    minutes: numberOf("--minutes", typed.text("minutes") ?? "60", 480),
    ...(ports.length > 0 && { ports }),
    ...(selector !== undefined && { selector }),
  };
}

function numberOf(flag: string, text: string, most: number): number {
  const value = Number(text);
  if (/^[0-9]+$/.test(text) && value >= 1 && value <= most) return value;
  throw new UsageError(`${flag} is a number from 1 to ${most}, not ${text}`);
}

async function statusOf(session: DebugSession, call: CallRoute, signal: AbortSignal): Promise<Record<string, unknown>> {
  const { id, state, owner, access, expiresAt, bytesIn, bytesOut, closeReason, error, auditHead } = session;
  return {
    ...{ id, state, owner },
    mode: access?.mode ?? null,
    namespace: access?.namespace ?? null,
    reason: access?.reason ?? null,
    approvedBy: await approvedBy(session, call, signal).catch((thrown: unknown) => {
      if (thrown instanceof FriendlyError) return "unknown";
      throw thrown;
    }),
    until: expiresAt,
    ...{ bytesIn, bytesOut, closeReason, error, auditHead },
  };
}
