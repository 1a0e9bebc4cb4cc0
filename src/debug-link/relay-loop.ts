import { sleep } from "../base/clock.ts";
import { orAborted } from "../base/or-aborted.ts";
import { RELAY_CLOSE_CODES } from "../contract/debug-sessions/debug-relay.ts";
import type { CloseReason } from "../contract/debug-sessions/debug-sessions.ts";
import { relayAddress } from "./relay-address.ts";
import { RelaySocket, type RelaySocketOptions, type SocketEnd } from "./relay-socket.ts";

export interface RelayTicket {
  readonly url: string;
  readonly ticket: string;
}

export interface RelayOptions extends RelaySocketOptions {
  /** Which end this is. */
  readonly side: "attach" | "tunnel";
  /** The platform that the caller was configured with: the relay is there, wherever an answer says that it is. */
  readonly platformUrl: string;
  /** Asked before each connection; a ticket works once. */
  ticket(signal: AbortSignal): Promise<RelayTicket>;
  /** True for an error of `ticket` that another try would meet again: it is thrown. Others are tried again. */
  isFinal?(error: unknown): boolean;
  /** Told before each pause: why, and how long. */
  onTrouble?(why: string, pauseMs: number): void;
}

/** As a signal's reason it says why the session ends; another reason means the usual word of this side. */
export class EndOfSession extends Error {
  override readonly name = "EndOfSession";
  readonly reason: CloseReason;

  constructor(reason: CloseReason) {
    super(`the session ends: ${reason}`);
    this.reason = reason;
  }
}

/**
 * Another process has connected as this side, and this one gives way: to come back would throw that one out. As a
 * signal's reason it leaves the relay without a word, because a word would end the session for the other process too.
 */
export class RelayReplaced extends Error {
  override readonly name = "RelayReplaced";

  constructor() {
    super("another process has connected in place of this one");
  }
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** A connection that held this long is no failure of those before it. */
const STEADY_MS = 10_000;

const REASONS: Readonly<Record<number, CloseReason>> = {
  [RELAY_CLOSE_CODES.idle]: "idle",
  [RELAY_CLOSE_CODES.expired]: "expired",
  [RELAY_CLOSE_CODES.killed]: "killed",
  [RELAY_CLOSE_CODES.lost]: "tunnel-lost",
};

/**
 * Stays connected to the relay for the length of a session, and gives each epoch to `onEpoch`. Reconnects with a fresh
 * ticket after a pause of full jitter.
 *
 * @param signal ends the session: the relay is told why (EndOfSession), or nothing (RelayReplaced).
 * @returns why it ended, by the relay's word or by the signal's.
 * @throws RelayReplaced; a final error of `ticket`
 */
export async function serveRelay(options: RelayOptions, signal: AbortSignal): Promise<CloseReason> {
  const { clock, random, side } = options;
  for (let failures = 0; ; ) {
    const startedMs = clock.monotonicMs();
    const end = await oneConnection(options, signal);
    if (signal.aborted) return own(side, signal);
    if (end.is === "closed") {
      if (end.code === RELAY_CLOSE_CODES.replaced) throw new RelayReplaced();
      const reason =
        end.reason ?? REASONS[end.code] ?? (end.code === RELAY_CLOSE_CODES.done ? otherOf(side) : undefined);
      if (reason !== undefined) return reason;
    }
    failures = clock.monotonicMs() - startedMs >= STEADY_MS ? 1 : failures + 1;
    const pauseMs = random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
    options.onTrouble?.(end.is === "lost" ? end.why : "the relay restarts", pauseMs);
    try {
      await sleep(clock, pauseMs, signal);
    } catch {
      return own(side, signal);
    }
  }
}

async function oneConnection(options: RelayOptions, signal: AbortSignal): Promise<SocketEnd> {
  let socket: RelaySocket;
  try {
    const { url, ticket } = await orAborted(options.ticket(signal), signal);
    socket = new RelaySocket(relayAddress(options.platformUrl, url), ticket, options);
  } catch (error) {
    if (!signal.aborted && options.isFinal?.(error) === true) throw error;
    return { is: "lost", why: error instanceof Error ? error.message : String(error) };
  }
  const onAbort = (): void => {
    if (signal.reason instanceof RelayReplaced) socket.leave();
    else socket.end(own(options.side, signal));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await socket.ended;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function own(side: RelayOptions["side"], { reason }: AbortSignal): CloseReason {
  if (reason instanceof EndOfSession) return reason.reason;
  return side === "attach" ? "client" : "agent";
}

function otherOf(side: RelayOptions["side"]): CloseReason {
  return side === "attach" ? "agent" : "client";
}
