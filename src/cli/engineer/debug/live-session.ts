import type { ClientHttp2Session } from "node:http2";
import { Agent } from "node:https";
import { systemRandom } from "../../../base/clock.ts";
import { isLoopbackHost } from "../../../base/loopback.ts";
import type { CloseReason, DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import { connectInner, PinMismatch } from "../../../debug-link/inner-client.ts";
import { EndOfSession, type RelayTicket, serveRelay } from "../../../debug-link/relay-loop.ts";
import type { Epoch } from "../../../debug-link/relay-socket.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { escaped } from "../../kernel/output.ts";
import type { CallRoute, Surroundings } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { approvedBy } from "./asking.ts";
import { forget, type Kept } from "./kept-session.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { startListener } from "./listener.ts";

export interface LiveOptions {
  readonly id: string;
  readonly kept: Kept;
  /** Of a session that was just asked for. */
  readonly ticket?: RelayTicket;
  readonly platformUrl: string;
  /** Instead of a shell. */
  readonly printKubeconfig: boolean;
}

const AWAY = "the connection to the customer's cluster is away; it is tried again";

/**
 * Serves one debug session: the relay, TLS to the tunnel, the loopback address, and the shell. What was made for it is
 * removed at its end, whoever ends it.
 *
 * @returns the exit code
 */
export async function serveSession(
  options: LiveOptions,
  surroundings: Surroundings,
  call: CallRoute,
  signal: AbortSignal,
): Promise<number> {
  const { id, kept, printKubeconfig } = options;
  const { env, clock, out, error, runShell } = surroundings;
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const attached = Promise.withResolvers<void>();
  let inner: ClientHttp2Session | undefined;
  const isOpen = (): boolean => inner !== undefined && !inner.closed && !inner.destroyed;
  const listener = await startListener({
    now: clock.wallNow(),
    way: () => (inner !== undefined && isOpen() ? inner : AWAY),
  });
  const kubeconfig = await writeKubeconfig(env, id, kept.namespace, listener);
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
        const wasAttached = inner !== undefined;
        inner = await connectInner({ stream: epoch.stream, key: kept.key, peerPin, clock }, epoch.signal);
        const lost = (): void => {
          if (!either.aborted) error(`${id}: ${epoch.stream.errored?.message ?? "the connection was lost"}\n`);
        };
        epoch.signal.addEventListener("abort", lost, { once: true });
        error(wasAttached ? `${id}: connected again; what was open was reset\n` : await banner(session, call, either));
        attached.resolve();
      },
      (mismatch) => stop.abort(mismatch),
    );
    await Promise.race([attached.promise, relay]);
    if (isOpen()) {
      if (printKubeconfig || runShell === undefined) out(`${kubeconfig.path}\n`);
      else {
        const more = { KUBECONFIG: kubeconfig.path, SALLYPORT_DEBUG_SESSION: id };
        shell = runShell(more, over.signal).finally(() => stop.abort(new EndOfSession("client")));
      }
    }
    const reason = await relay;
    await forget(env, id);
    signal.throwIfAborted();
    return ended(id, reason, surroundings, call, signal);
  } finally {
    stop.abort(new EndOfSession("client"));
    over.abort();
    inner?.destroy();
    await Promise.all([listener.close(), kubeconfig.remove(), shell?.catch(() => undefined)]);
  }
}

/** Gives each epoch to `onEpoch`, one after the other. */
function relayOf(
  { id, ticket: first, platformUrl }: LiveOptions,
  { env, clock, error }: Surroundings,
  call: CallRoute,
  signal: AbortSignal,
  onEpoch: (epoch: Epoch) => Promise<void>,
  onMismatch: (end: EndOfSession) => void,
): Promise<CloseReason> {
  let given = first;
  return serveRelay(
    {
      clock,
      random: systemRandom,
      side: "attach",
      platformUrl,
      ...(!isLoopbackHost(new URL(platformUrl).hostname) && { agent: new Agent({ proxyEnv: env }) }),
      async ticket(limit) {
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
          epoch.stream.destroy();
          if (signal.aborted) return;
          error(`${id}: ${escaped(thrown instanceof Error ? thrown.message : String(thrown), "")}\n`);
          if (thrown instanceof PinMismatch) onMismatch(new EndOfSession("pin-mismatch"));
        });
      },
      onTrouble: (why, pauseMs) =>
        error(`${id}: ${escaped(why, "")}; trying again in ${Math.ceil(pauseMs / 1_000)} s\n`),
    },
    signal,
  );
}

async function sessionOf(id: string, call: CallRoute, signal: AbortSignal): Promise<DebugSession> {
  return (await call("debugSessions", "get", { params: { id }, query: {}, body: undefined }, signal)) as DebugSession;
}

async function banner(session: DebugSession, call: CallRoute, signal: AbortSignal): Promise<string> {
  const { mode = "debug", namespace = "-" } = session.access ?? {};
  const lines = [
    `${session.id}: attached, until ${session.expiresAt}`,
    `  may:         ${mode} in namespace ${namespace}`,
    `  approved by: ${await approvedBy(session, call, signal)}`,
    `  recorded:    each request${mode === "exec" ? ", and what a terminal shows, where the customer wants it" : ""}; the customer reads it`,
  ];
  return `${escaped(lines.join("\n"), "\n")}\n`;
}

async function ended(
  id: string,
  reason: CloseReason,
  { error }: Surroundings,
  call: CallRoute,
  signal: AbortSignal,
): Promise<number> {
  const { error: stored } = await sessionOf(id, call, signal);
  const why = stored === null ? "" : `: ${stored.message}`;
  error(`${escaped(`${id}: ended (${reason})${why}`, "")}\n`);
  return reason === "client" ? EXIT_CODES.done.code : EXIT_CODES.notRun.code;
}
