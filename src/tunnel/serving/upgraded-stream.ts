import type { ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import { cutStream } from "../../debug-link/cut-stream.ts";
import { answeredUpgrade } from "../../debug-link/upgrade-wire.ts";
import type { Allowed } from "../requests/judge.ts";
import { channelReader, exitCodeOf } from "../streams/channels.ts";
import { forwardedPorts } from "../streams/forwarded-ports.ts";
import type { SessionRecorder } from "../streams/recorder.ts";
import { SpdyReader } from "../streams/spdy-reader.ts";
import type { HandlerOptions } from "./handler-options.ts";
import { headersDown } from "./messages.ts";
import { BrokenOff, drainInto, write } from "./pump.ts";
import { isTold } from "./redact-command.ts";

export interface Upgraded {
  readonly stream: ServerHttp2Stream;
  readonly verdict: Allowed;
  readonly upgrade: string;
  readonly id: number;
}

type Options = Pick<
  HandlerOptions,
  "upstream" | "ports" | "audit" | "clock" | "metrics" | "counts" | "onAuditFailed"
> & {
  /** Undefined: nothing is recorded. */
  readonly recorder: SessionRecorder | undefined;
  carried(bytes: number): void;
  heard(): void;
  /** @param words of a refusal */
  answered(status: number, words?: string): void;
};

/** How long the engineer's side may take to end what the API server has ended. */
const LINGER_MS = 5_000;

/**
 * Carries an exec or a port-forward. A refusal of the API server is told as it is, with its `Status`: kubectl would take a
 * dropped connection for one that it may try in another way.
 */
export async function carryUpgraded(
  options: Options,
  { stream, verdict, upgrade, id }: Upgraded,
  signal: AbortSignal,
): Promise<void> {
  const { upstream, clock } = options;
  const { method, target: path, headers } = verdict;
  const answer = await upstream().upgrade(
    { method, path, headers },
    upgrade === "websocket" ? upgrade : "SPDY/3.1",
    signal,
  );
  if (answer.socket === undefined) {
    options.answered(answer.status, messageOf(answer.body ?? Buffer.alloc(0)));
    stream.respond({ ":status": answer.status, ...headersDown(answer.headers) });
    stream.end(answer.body);
    stream.resume();
    return;
  }
  const { socket } = answer;
  options.answered(answer.status);
  socket.on("error", () => undefined);
  const startMs = clock.monotonicMs();
  const taps = tapsOf(options, verdict, upgrade, id);
  try {
    signal.throwIfAborted();
    stream.respond({ ":status": 200, ...answeredUpgrade(answer.headers) });
    await joined(stream, socket, taps, clock, signal);
  } finally {
    socket.destroy();
    taps.end();
    const ms = Math.round(clock.monotonicMs() - startMs);
    const record = { id, protocol: upgrade, ms, ...taps.seen() };
    // The request itself is on the disk; a failure here ends the session all the same.
    await options.audit.append("stream", record).catch(options.onAuditFailed);
  }
}

/** Of a `Status`. */
function messageOf(body: Buffer): string {
  try {
    const { message } = JSON.parse(body.toString("utf8")) as { readonly message?: unknown };
    if (typeof message === "string") return message;
  } catch {
    // Not of the API server's making: a proxy in front of it answers in a form of its own.
  }
  return "the API server refused it";
}

interface Taps {
  /** Look at a chunk before it goes on. */
  up(chunk: Buffer): void;
  down(chunk: Buffer): Promise<void> | undefined;
  /** Nothing more passes. */
  end(): void;
  seen(): Readonly<Record<string, unknown>>;
}

/** Both directions until both have ended; a loss on one side is a loss on the other, never an end. */
async function joined(
  stream: ServerHttp2Stream,
  socket: Duplex,
  taps: Taps,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let cancel = (): void => undefined;
  const cut = (): void => void socket.destroy();
  signal.addEventListener("abort", cut, { once: true });
  const upwards = drainInto(stream, (chunk) => {
    taps.up(chunk);
    return write(socket, chunk);
  }).then(() => void socket.end());
  upwards.catch((error: unknown) => {
    // Until the API server has ended, what the engineer's side loses is lost for both.
    if (error instanceof PortRefused || !stream.writableEnded) socket.destroy();
  });
  try {
    await drainInto(socket, (chunk) => {
      const isKept = taps.down(chunk);
      return isKept === undefined ? write(stream, chunk) : isKept.then(() => write(stream, chunk));
    });
    if (signal.aborted || (stream.readableEnded && socket.errored !== null)) throw new BrokenOff();
    stream.end();
    const late = Promise.withResolvers<void>();
    cancel = clock.after(LINGER_MS, () => late.resolve());
    await Promise.race([upwards.catch(() => undefined), late.promise]);
  } catch (error) {
    cutStream(stream, "the connection was broken off");
    if (!(signal.aborted || error instanceof BrokenOff)) throw error;
  } finally {
    cancel();
    signal.removeEventListener("abort", cut);
  }
}

class PortRefused extends Error {
  override readonly name = "PortRefused";
}

function tapsOf(options: Options, verdict: Allowed, upgrade: string, id: number): Taps {
  const { ports, recorder, clock, metrics, counts, audit, onAuditFailed } = options;
  const isWebSocket = upgrade === "websocket";
  const { name = "", container = "", tty = false, stdin = false, command = [] } = verdict.subject ?? {};
  let [bytesIn, bytesOut, exitCode]: [number, number, number | undefined] = [0, 0, undefined];
  const opened: number[] = [];
  const isExec = verdict.kind === "exec" && isWebSocket;
  const where = container === "" ? name : `${name}/${container}`;
  // What is typed is in no file, so only the whole output tells what was done; without input the command tells, unless a part
  // of it was taken out as a secret, which may be the name of a program.
  const isBounded = !tty && !stdin && isTold(command);
  const recorded = isExec ? recorder?.begin({ id, where, isBounded }) : undefined;
  const shown = channelReader({
    onOutput: (channel, bytes) => recorded?.output(channel, bytes),
    onStatus: (text) => {
      exitCode = exitCodeOf(text);
    },
  });
  // kubectl pings by itself on both transports, and what it receives it acknowledges: neither keeps a session from idling.
  const heard = (): void => options.heard();
  const typed = isExec
    ? channelReader({ onAny: heard, onResize: (text) => recorded?.resize(text) })
    : new SpdyReader({ onStream: heard, onContent: heard }, clock);
  const onPort = (port: number, isAllowed: boolean): void => {
    if (isAllowed) opened.push(port);
    else {
      metrics.denied("port");
      counts.denied += 1;
      audit.append("denied", { id, reason: "port", port }).catch(onAuditFailed);
    }
  };
  const forwarded = forwardedPorts(isWebSocket, ports, onPort, clock, heard);
  return {
    up(chunk) {
      bytesIn += chunk.length;
      options.carried(chunk.length);
      if (verdict.kind === "port-forward") {
        if (!forwarded.check(chunk)) throw new PortRefused("another port");
        return;
      }
      typed.push(chunk);
      // What cannot be read might be typed.
      if (typed.isBroken) heard();
    },
    down(chunk) {
      bytesOut += chunk.length;
      counts.bytesOut += chunk.length;
      metrics.bytes("out", chunk.length);
      if (!isExec) return undefined;
      shown.push(chunk);
      if (recorded === undefined) return undefined;
      if (shown.isBroken) throw new Error("what is shown cannot be recorded");
      return recorder?.drained();
    },
    end: () => recorded?.end(exitCode),
    seen: () => ({
      ...{ bytesIn, bytesOut },
      ...(opened.length > 0 && { ports: opened }),
      ...(exitCode !== undefined && { exitCode }),
    }),
  };
}
