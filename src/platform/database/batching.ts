import { Socket } from "node:net";
import { PGlite } from "@electric-sql/pglite";

// pg sends each protocol message separately, up to five for one statement. This file joins them.

/** Parse, bind, describe, execute and close: the client waits for no answer to them before the sync. */
const STEPS = new Set([..."PBDEC"].map((letter) => letter.charCodeAt(0)));

/** A PGlite that enters its WebAssembly once for each statement instead of once for each message. */
export class BatchingPGlite extends PGlite {
  #steps: Uint8Array[] = [];

  override async execProtocolStream(
    message: Uint8Array,
    options?: Parameters<PGlite["execProtocolStream"]>[1],
  ): ReturnType<PGlite["execProtocolStream"]> {
    if (STEPS.has(message[0] ?? 0)) {
      this.#steps.push(message);
      return [];
    }
    const whole = Buffer.concat([...this.#steps, message]);
    this.#steps = [];
    return await super.execProtocolStream(whole, options);
  }
}

/** A socket that sends everything written in one tick together: a transaction's begin with its first statement. */
export function corkedSocket(): Socket {
  const socket = new Socket();
  // Node resets the socket's `write` when it begins to connect.
  return socket.once("connect", () => {
    const write = socket.write.bind(socket) as (...args: readonly unknown[]) => boolean;
    socket.write = (...args: readonly unknown[]) => {
      if (socket.writableCorked === 0) {
        socket.cork();
        process.nextTick(() => socket.uncork());
      }
      return write(...args);
    };
  });
}
