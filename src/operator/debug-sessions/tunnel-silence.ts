import type { Clock } from "../../base/clock.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";

/** A tunnel writes its part of the status each 10 s. One that has not for so long is gone, and another takes its sessions. */
export const SILENT_MS = 30_000;

/** When each tunnel was last heard, by the changes of its part of the status. No clock of the tunnel's is believed. */
export class TunnelSilence {
  readonly #clock: Clock;
  readonly #heard = new Map<string, { readonly word: string; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Until the tunnel counts as away; 0: it does. Undefined: there is none that would have to write. */
  leftMs({ metadata: { uid }, status }: DebugSession): number | undefined {
    const { tunnel } = status ?? {};
    if (tunnel === undefined || tunnel.closed !== undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    const word = JSON.stringify(tunnel);
    const before = this.#heard.get(uid);
    if (before?.word === word) return Math.max(0, before.atMs + SILENT_MS - nowMs);
    this.#heard.set(uid, { word, atMs: nowMs });
    return SILENT_MS;
  }

  /** The session is not open any more. */
  forget(uid: string): void {
    this.#heard.delete(uid);
  }
}
