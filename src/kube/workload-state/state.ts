import { type Finding, joined } from "./message.ts";
import { HEALTHS, type Health, type Lifecycle } from "./words.ts";

export interface WorkloadState {
  readonly lifecycle: Lifecycle;
  readonly health: Health;
  /** One line of closed words, counts and names of Pods, most severe first; absent when there is nothing to say. */
  readonly message?: string;
}

/** What all derivations look at beside the object. */
export interface View {
  readonly now: Date;
}

/** The state that the findings add up to: the worst of them is the health. */
export function stateOf(lifecycle: Lifecycle, findings: readonly Finding[]): WorkloadState {
  const health = HEALTHS.find((word) => findings.some((finding) => finding.health === word)) ?? "healthy";
  const worstFirst = findings.toSorted((a, b) => HEALTHS.indexOf(a.health) - HEALTHS.indexOf(b.health));
  const message = joined(worstFirst.map(({ text }) => text));
  return message === "" ? { lifecycle, health } : { lifecycle, health, message };
}

export function seconds(ms: number): string {
  return `${Math.floor(ms / 1_000)} s`;
}

/** Younger than this without a ready Pod an object is being created, not broken. */
const YOUNG_MS = 60_000;

/** An object whose time of creation cannot be read is old. */
export function isYoung(metadata: { readonly creationTimestamp: string }, now: Date): boolean {
  const ms = msSince(metadata.creationTimestamp, now);
  return ms !== undefined && ms < YOUNG_MS;
}

/** Undefined for what is no time. */
export function msSince(time: string | undefined, now: Date): number | undefined {
  const at = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(at) ? undefined : now.getTime() - at;
}

interface HasType {
  readonly type: string;
  readonly status: string;
}

export function conditionOf<C extends HasType>(conditions: readonly C[], type: string): C | undefined {
  return conditions.find((condition) => condition.type === type);
}

export function isTrue(conditions: readonly HasType[], type: string): boolean {
  return conditionOf(conditions, type)?.status === "True";
}

/** A reason as a word of the list; text that others chose never reaches a message. */
export function known<const W extends string>(words: readonly W[], reason: string | undefined): W | undefined {
  return words.find((word) => word === reason);
}
