import { isRecord } from "../../base/is-record.ts";

/** What the operator says to the child. Each is one line of JSON. `module` and `api`, which is what it imports, are file URLs. */
export type ToChild =
  | {
      readonly type: "run";
      /** Of the module's default export. */
      readonly operation: string;
      readonly module: string;
      readonly api: string;
      readonly params: Readonly<Record<string, unknown>>;
      /** ISO 8601: the same instant in every try. */
      readonly startedAt: string;
      readonly timeLimitMs: number;
      /** False: `verify` is left out. */
      readonly verifies: boolean;
    }
  /** Loads the module, runs nothing of it, and answers with `typeof` of `bind`, `run` and `verify` of each operation. */
  | { readonly type: "load"; readonly module: string; readonly api: string }
  | { readonly type: "answer"; readonly id: number; readonly value?: unknown }
  | { readonly type: "refusal"; readonly id: number; readonly status: number; readonly message: string };

const CALL_VERBS = ["get", "list", "create", "patch", "delete", "podLogs"] as const;
export type CallVerb = (typeof CALL_VERBS)[number];

/** A request that the plugin asks for. Its arguments are checked where it is carried out. */
export interface CallMessage {
  readonly type: "call";
  readonly id: number;
  readonly verb: CallVerb;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** In the module; both count from 1. */
export interface ModulePlace {
  readonly line: number;
  readonly column: number;
}

/** What the child says. The set is closed. */
export type FromChild =
  | CallMessage
  | { readonly type: "done"; readonly result: Readonly<Record<string, unknown>> }
  /** `said`: the plugin looked and said no. `crashed`: its code threw something else. */
  | {
      readonly type: "failed";
      readonly how: "said" | "crashed";
      readonly message: string;
      /** Where the module threw it, if that can be seen. */
      readonly at?: ModulePlace;
    };

/**
 * One line of a child that may say anything. Undefined: it is none of the messages. A field that a message does not have is
 * left out, and nesting is counted before anything is parsed.
 */
export function readMessage(line: string, maxDepth: number): FromChild | undefined {
  if (depthOf(line) > maxDepth) return undefined;
  const value = parsed(line);
  if (!isRecord(value)) return undefined;
  if (value.type === "call") {
    const { id, verb, arguments: given } = value;
    const known = CALL_VERBS.find((each) => each === verb);
    if (!Number.isSafeInteger(id) || known === undefined || !isRecord(given)) return undefined;
    return { type: "call", id: Number(id), verb: known, arguments: given };
  }
  if (value.type === "done") return isRecord(value.result) ? { type: "done", result: value.result } : undefined;
  if (value.type !== "failed" || typeof value.message !== "string") return undefined;
  if (value.how !== "said" && value.how !== "crashed") return undefined;
  const at = placeIn(value.at);
  return { type: "failed", how: value.how, message: value.message, ...(at !== undefined && { at }) };
}

function placeIn(value: unknown): ModulePlace | undefined {
  if (!isRecord(value)) return undefined;
  const { line, column } = value;
  return isCount(line) && isCount(column) ? { line, column } : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

/** How deep brackets stand in brackets, in one pass. Those inside of texts do not count. */
function depthOf(line: string): number {
  let depth = 0;
  let deepest = 0;
  let inText = false;
  for (let at = 0; at < line.length; at += 1) {
    const code = line.charCodeAt(at);
    if (inText) {
      if (code === 92) at += 1;
      else if (code === 34) inText = false;
    } else if (code === 34) inText = true;
    else if (code === 91 || code === 123) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === 93 || code === 125) depth -= 1;
  }
  return deepest;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
