import type { DebugSession } from "../../crds/kinds/debug-session.ts";

const HELD = ["Opening", "Open", "Closing"];

/**
 * How many sessions have an account, or soon will. Workers judge sessions side by side, and the cache shows a session as
 * opening only after a while: one that the gate let through takes its place here, before anything is written for it, and
 * has it until the cache shows what became of it.
 */
export class SessionPlaces {
  readonly #sessions: () => Iterable<DebugSession>;
  readonly #taken = new Set<string>();

  /** @param sessions from the cache */
  constructor(sessions: () => Iterable<DebugSession>) {
    this.#sessions = sessions;
  }

  /** Sessions beside this one that have a place. */
  others({ metadata }: DebugSession): number {
    const states = new Map<string, string>();
    for (const each of this.#sessions()) states.set(each.metadata.uid, each.status?.state ?? "Pending");
    for (const uid of this.#taken) if (states.get(uid) !== "Pending") this.#taken.delete(uid);
    const held = [...states].filter(([uid, state]) => HELD.includes(state) || this.#taken.has(uid));
    return held.filter(([uid]) => uid !== metadata.uid).length;
  }

  /** To be called in the same turn as the judgement by `others`. */
  take({ metadata }: DebugSession): void {
    this.#taken.add(metadata.uid);
  }
}
