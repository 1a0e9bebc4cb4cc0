import type { Duplex } from "node:stream";
import type { Clock } from "../../base/clock.ts";

/** How long a client may take to read its last answer. */
const LINGER_MS = 5_000;

/**
 * Of a connection that this side has ended: reads on, so that the client is not reset before it has its answer, and closes,
 * should the client not do so. Node has no limit for a connection that it no longer reads as HTTP.
 */
export function linger(socket: Duplex, clock: Pick<Clock, "after">): void {
  socket.resume();
  socket.once(
    "close",
    clock.after(LINGER_MS, () => socket.destroy()),
  );
}
