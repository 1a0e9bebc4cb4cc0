import { ApiError } from "../../api-client/api-error.ts";
import type { CloseReason } from "../../contract/debug-sessions/debug-sessions.ts";
import { EndOfSession, RelayReplaced, serveRelay } from "../../debug-link/relay-loop.ts";
import type { Epoch } from "../../debug-link/relay-socket.ts";
import type { SessionTools } from "./session-tools.ts";

export interface RelayHooks {
  readonly onEpoch: (epoch: Epoch) => void;
  /** The platform has moved the end. */
  readonly onUntil: (at: Date) => void;
  /** Another tunnel has the session's place at the relay. */
  readonly onReplaced: () => void;
  /** The session ends here: streams close before the relay is told why. */
  readonly isEnding: () => boolean;
}

type Tools = Pick<SessionTools, "platform" | "config" | "proxyAgent" | "clock" | "random" | "log" | "key">;

/** Holds a session's place at the relay until the session ends, or `signal` aborts. @returns why it ended */
export async function serveUntilEnd(
  { platform, config, proxyAgent, clock, random, log, key }: Tools,
  sessionId: string,
  { onEpoch, onUntil, onReplaced, isEnding }: RelayHooks,
  signal: AbortSignal,
): Promise<CloseReason> {
  const ticketFor = { params: { id: sessionId }, body: { tunnelKey: key.pin } };
  try {
    return await serveRelay(
      {
        side: "tunnel",
        platformUrl: config.platformUrl,
        clock,
        random,
        ...(proxyAgent && { agent: proxyAgent }),
        ticket: (each) => platform.debugRelay.ticket(ticketFor, each),
        isFinal: (error) => error instanceof ApiError && (error.status === 404 || error.status === 409),
        onEpoch,
        onUntil,
        isEnding,
        onTrouble: (why, pauseMs) => log.info({ sessionId, why, pauseMs }, "the relay is away"),
      },
      signal,
    );
  } catch (error) {
    if (signal.aborted) return signal.reason instanceof EndOfSession ? signal.reason.reason : "agent";
    if (error instanceof RelayReplaced) {
      onReplaced();
      return "tunnel-lost";
    }
    // The platform has no such session, or has ended it.
    if (error instanceof ApiError) return "killed";
    throw error;
  }
}
