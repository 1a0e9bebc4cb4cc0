import { read, writeSync } from "node:fs";
import { Lines } from "../lines.ts";
import type { FromChild, ToChild } from "../messages.ts";

/** Answers come from the operator, which bounds them. */
const LONGEST_ANSWER_BYTES = 64 * 1_024 * 1_024;
const PIECE_BYTES = 64 * 1_024;
const PIPE = 3;
const OUTPUT = 2;

/**
 * The child's end of the pipe, as calls on its number. A socket or a stream would be an object of Node.js from whose class code makes
 * others, which connect to what it likes: a process without any has no such class to find.
 */
export const channel = {
  /** Waits until the operator has taken it. */
  send(message: FromChild): void {
    write(PIPE, `${JSON.stringify(message)}\n`);
  },

  /** Text for the author. */
  print(text: string): void {
    write(OUTPUT, text);
  },

  /** @param ended the operator is gone, or what came is no message */
  listen(take: (message: ToChild) => void, ended: () => void): void {
    const lines = new Lines(LONGEST_ANSWER_BYTES);
    const next = (): void => {
      const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
      read(PIPE, piece, 0, PIECE_BYTES, null, (error, length) => {
        const taken = error || length === 0 ? undefined : lines.take(piece.subarray(0, length));
        if (!Array.isArray(taken)) return ended();
        // Before anything else runs: with a read that waits this process does not end by itself.
        next();
        // Written by the operator's own end of this pipe.
        for (const line of taken) take(JSON.parse(line));
      });
    };
    next();
  },
};

function write(to: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(to, bytes, at);
}
