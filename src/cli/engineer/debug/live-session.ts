import type { ClientHttp2Session } from "node:http2";
import { Agent } from "node:https";
import { systemRandom } from "../../../base/clock.ts";
import { isLoopbackHost } from "../../../base/loopback.ts";
import type { CloseReason, DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import { pastedLine } from "../../../contract/wire/pasted-line.ts";
import { DEFAULT_NAMES, objectName } from "../../../crds/group.ts";
import { connectInner, PinMismatch } from "../../../debug-link/inner-client.ts";
import { EndOfSession, RelayReplaced, type RelayTicket, serveRelay } from "../../../debug-link/relay-loop.ts";
import type { Epoch } from "../../../debug-link/relay-socket.ts";
import { samePin } from "../../../debug-link/session-key.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { escaped } from "../../kernel/output.ts";
import type { CallRoute, Surroundings } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { approvedBy } from "./asking.ts";
import { forget, type Kept, keep } from "./kept-session.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { startListener } from "./listener.ts";

export interface LiveOptions {
  readonly id: string;
  /**
   * The request behind a session that was just asked for. Its key is kept until the session is open: one that the
   * customer's cluster refuses before it has claimed the approval can be asked for again.
   */
  readonly requestId?: string | undefined;
  readonly kept: Kept;
  /** Of a session that was just asked for. */
  readonly ticket?: RelayTicket;
  readonly platformUrl: string;
  /** Instead of a shell. */
  readonly printKubeconfig: boolean;
  /** The key of a tunnel that took the place of the first one, as the customer read it out. */
  readonly newTunnelKey?: string | undefined;
}

/** The agent's code for the operator's reason `LineUsed`. */
const LINE_USED = "LINE_USED";
const AWAY = "the connection to the customer's cluster is away; it is tried again";

/**
 * Serves one debug session: the relay, TLS to the tunnel, the loopback address, and the shell. What was made for it is
 * removed when the engineer, the customer or the platform ends it.
 *
 * @returns the exit code
 */
export async function serveSession(
  options: LiveOptions,
  surroundings: Surroundings,
  call: CallRoute,
  signal: AbortSignal,
): Promise<number> {
  const { id, requestId, kept, printKubeconfig } = options;
  const { env, clock, out, error, runShell } = surroundings;
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const attached = Promise.withResolvers<DebugSession>();
  let wasAttached = false;
  let inner: ClientHttp2Session | undefined;
  const isOpen = (): boolean => inner !== undefined && !inner.closed && !inner.destroyed;
  const listener = await startListener({
    now: clock.wallNow(),
    way: () => (inner !== undefined && isOpen() ? inner : AWAY),
  });
  const kubeconfig = await writeKubeconfig(env, id, kept.namespace, listener).catch(async (thrown: unknown) => {
    await listener.close();
    throw thrown;
  });
  const trust = trusted(options, surroundings);
  let shell: Promise<unknown> | undefined;
  const over = new AbortController();
  try {
    error(`${id}: waits for the customer's cluster\n`);
    const relay = relayOf(
      options,
      surroundings,
      call,
      either,
      async (epoch) => {
        const session = await sessionOf(id, call, either);
        const { tunnelKey: peerPin } = session;
        if (peerPin === null) throw new Error("the customer's cluster has not told its key");
        trust.check(peerPin);
        inner = await connectInner({ stream: epoch.stream, key: kept.key, peerPin, clock }, epoch.signal);
        await trust.keep(peerPin);
        const lost = (): void => {
          if (either.aborted) return;
          error(`${id}: ${escaped(epoch.stream.errored?.message ?? "the connection was lost", "")}\n`);
        };
        epoch.signal.addEventListener("abort", lost, { once: true });
        if (wasAttached) error(`${id}: connected again; what was open was reset\n`);
        wasAttached = true;
        if (requestId !== undefined) await forget(env, requestId);
        attached.resolve(session);
      },
      (mismatch) => stop.abort(mismatch),
    );
    const first = await Promise.race([attached.promise, relay.then(() => undefined)]);
    if (first !== undefined) {
      // Also when the connection was lost meanwhile: it comes back, and kubectl waits.
      error(await banner(first, call, either));
      if (printKubeconfig || runShell === undefined) out(`${kubeconfig.path}\n`);
      else {
        const more = { KUBECONFIG: kubeconfig.path, SALLYPORT_DEBUG_SESSION: id };
        shell = runShell(more, over.signal).finally(() => stop.abort(new EndOfSession("client")));
      }
    }
    const reason = await relay;
    await forget(env, id);
    signal.throwIfAborted();
    return ended({ id, requestId }, reason, surroundings, call, signal);
  } finally {
    stop.abort(new EndOfSession("client"));
    over.abort();
    inner?.destroy();
    await Promise.all([listener.close(), kubeconfig.remove(), shell?.catch(() => undefined)]);
  }
}

/** Gives each epoch to `onEpoch`. The work on a lost one may still go on when the next begins; its signal has aborted. */
function relayOf(
  { id, ticket: first, platformUrl }: LiveOptions,
  { env, clock, error }: Surroundings,
  call: CallRoute,
  signal: AbortSignal,
  onEpoch: (epoch: Epoch) => Promise<void>,
  onMismatch: (end: EndOfSession) => void,
): Promise<CloseReason> {
  let given = first;
  let changed: TunnelChanged | undefined;
  const relay = serveRelay(
    {
      clock,
      random: systemRandom,
      side: "attach",
      platformUrl,
      ...(!isLoopbackHost(new URL(platformUrl).hostname) && { agent: new Agent({ proxyEnv: env }) }),
      async ticket(limit) {
        // Without a word to the relay: the session stays, and can be attached to with the customer's word.
        if (changed !== undefined) throw changed;
        const ready = given;
        given = undefined;
        if (ready !== undefined) return ready;
        return (await call(
          "debugRelay",
          "ticket",
          { params: { id }, query: {}, body: undefined },
          limit,
        )) as RelayTicket;
      },
      // The platform says in words why there is no ticket: the session is over, or it is another's.
      isFinal: (thrown) => thrown instanceof FriendlyError && thrown.exitCode !== EXIT_CODES.unavailable.code,
      onEpoch(epoch) {
        onEpoch(epoch).catch((thrown: unknown) => {
          if (thrown instanceof TunnelChanged) changed = thrown;
          epoch.stream.destroy();
          if (signal.aborted || changed !== undefined) return;
          error(`${id}: ${escaped(thrown instanceof Error ? thrown.message : String(thrown), "")}\n`);
          if (thrown instanceof PinMismatch) onMismatch(new EndOfSession("pin-mismatch"));
        });
      },
      onTrouble: (why, pauseMs) =>
        error(`${id}: ${escaped(why, "")}; trying again in ${Math.ceil(pauseMs / 1_000)} s\n`),
    },
    signal,
  );
  return relay.catch(async (thrown: unknown) => {
    if (!(thrown instanceof RelayReplaced)) return endWhileAway(id, thrown, call, signal);
    throw new FriendlyError(`${id}: another attached meanwhile, and this one gave way`, {
      cause: thrown,
      exitCode: EXIT_CODES.conflict.code,
    });
  });
}

/** There is no ticket for a session that ended while this side was away: its record says why it ended. */
async function endWhileAway(id: string, thrown: unknown, call: CallRoute, signal: AbortSignal): Promise<CloseReason> {
  const isRefused = thrown instanceof FriendlyError && thrown.exitCode === EXIT_CODES.conflict.code;
  if (!isRefused || thrown instanceof TunnelChanged) throw thrown;
  const { state, closeReason } = await sessionOf(id, call, signal);
  if (state === "pending" || state === "running") throw thrown;
  return closeReason ?? (state === "expired" ? "expired" : "agent");
}

/** The tunnel has another key than the one that this session began with. */
class TunnelChanged extends FriendlyError {
  constructor(id: string) {
    const read = `kubectl get dbg ${objectName(id)} -n ${DEFAULT_NAMES.grantsNamespace} -o jsonpath={.status.tunnel.key}`;
    super(
      `${id}: the tunnel in the customer's cluster has another key than at first. Its pod was replaced, or another poses as
it. Ask the customer, by phone, to read the key of the tunnel that serves now:
  ${read}
and go on with what they say, or stop:
  sallyport debug attach ${id} --accept-new-tunnel=KEY
  sallyport debug stop ${id}`,
      { exitCode: EXIT_CODES.conflict.code },
    );
  }
}

/**
 * The platform tells which key the tunnel has, so the platform could name one of its own. What the first connection met is
 * kept, and another one is met only by the customer's word.
 */
function trusted({ id, kept, newTunnelKey }: LiveOptions, { env }: Surroundings) {
  let known = kept.tunnelKey;
  return {
    /** @throws TunnelChanged */
    check(told: string): void {
      const isNamed = newTunnelKey !== undefined && samePin(told, newTunnelKey);
      if (known !== undefined && !samePin(told, known) && !isNamed) throw new TunnelChanged(id);
    },
    /** Once the other end has shown that it has this key. */
    async keep(shown: string): Promise<void> {
      if (shown === known) return;
      known = shown;
      await keep(env, id, { ...kept, tunnelKey: shown });
    },
  };
}

async function sessionOf(id: string, call: CallRoute, signal: AbortSignal): Promise<DebugSession> {
  return (await call("debugSessions", "get", { params: { id }, query: {}, body: undefined }, signal)) as DebugSession;
}

async function banner(session: DebugSession, call: CallRoute, signal: AbortSignal): Promise<string> {
  const { mode = "debug", namespace = "-" } = session.access ?? {};
  const lines = [
    `${session.id}: attached, until ${session.expiresAt}`,
    `  may:         ${mode} in namespace ${namespace}`,
    `  approved by: ${await approvedBy(session, call, signal).catch(() => "unknown: the platform did not say")}`,
    `  tunnel key:  ${session.tunnelKey ?? "-"}, which the customer reads in status.tunnel.key of ${objectName(session.id)}`,
    `  recorded:    each request${mode === "exec" ? ", and what a terminal shows, where the customer wants it" : ""}; the customer reads it`,
  ];
  return `${escaped(lines.join("\n"), "\n")}\n`;
}

async function ended(
  { id, requestId }: Pick<LiveOptions, "id" | "requestId">,
  reason: CloseReason,
  { error }: Surroundings,
  call: CallRoute,
  signal: AbortSignal,
): Promise<number> {
  // The relay says `killed` of all that ended elsewhere; the record has the cluster's own word.
  const { state, error: stored, closeReason } = await sessionOf(id, call, signal);
  const why = stored === null ? "" : `: ${stored.message}`;
  error(`${escaped(`${id}: ended (${closeReason ?? reason})${why}`, "")}\n`);
  // `failed` and `refused`: it was never let through. Where it had claimed the approval all the same, the cluster says so.
  const isUnused = state === "failed" && closeReason === "refused" && stored?.code !== LINE_USED;
  if (requestId !== undefined && isUnused) {
    const line = pastedLine`sallyport debug open --request ${requestId}`;
    error(`the approval is not used up${line === undefined ? "" : `; while it holds: ${line}`}\n`);
  }
  return reason === "client" ? EXIT_CODES.done.code : EXIT_CODES.notRun.code;
}
