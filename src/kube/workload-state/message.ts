import type { Health } from "./words.ts";

/** One thing that was seen of an object: how bad it is, and the words for it. */
export interface Finding {
  readonly health: Health;
  /** Closed words, counts, and names that went through {@link plainName}. */
  readonly text: string;
}

/** Longest message, in characters. */
export const MAX_MESSAGE = 256;
/** Longest name within a message: a Pod's name can be 253 characters, which would leave no room for what is wrong. */
const MAX_NAME = 80;
/** Room for `; and 12345 more`. */
const REST_ROOM = 17;

/** The parts in their order, as many as fit; how many do not is said at the end. */
export function joined(parts: readonly string[]): string {
  let text = "";
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    const longer = text === "" ? part : `${text}; ${part}`;
    if (longer.length > (isLast ? MAX_MESSAGE : MAX_MESSAGE - REST_ROOM)) {
      const rest = parts.length - index;
      return text === "" ? `${part.slice(0, MAX_MESSAGE - 1)}…` : `${text}; and ${rest} more`;
    }
    text = longer;
  }
  return text;
}

/**
 * A name with the characters that names of Kubernetes have. An API server that lies could otherwise write to the
 * terminal of the person who reads the message.
 */
export function plainName(name: string): string {
  const short = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name;
  return short.replaceAll(/[^A-Za-z0-9.…-]/g, "?");
}
