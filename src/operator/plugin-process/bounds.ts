import { MEMORY_OF_PLUGIN } from "../../plugins/values.ts";

/** How much one run of a plugin may take. The parent enforces each of them: the child is believed in nothing. */
export const PLUGIN_BOUNDS = {
  /** One message of the child, in bytes. The API server itself takes 3 MiB. */
  messageBytes: 2 * 1_024 * 1_024,
  /** All messages of the child together. */
  totalBytes: 32 * 1_024 * 1_024,
  /** Requests of one run. */
  calls: 1_000,
  /** Requests that wait for their answer; they are sent one after the other. */
  waitingCalls: 16,
  /** Brackets inside of brackets. */
  depth: 64,
  /** What it writes to stdout and stderr. More ends it. */
  noiseBytes: 256 * 1_024,
  /** Of that, what is kept for one line of the log. */
  noiseKeptBytes: 2_048,
  /** Objects of V8. Buffers lie outside of it. */
  heapMiB: 64,
  /** All of its memory. */
  residentBytes: MEMORY_OF_PLUGIN * 1_024 * 1_024,
  /** Between two looks at its memory. */
  memoryLookMs: 50,
} as const;
