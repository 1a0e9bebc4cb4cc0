import type { Tier } from "../plan.ts";
import { type Field, integer, label, oneOf, type ParamsSpec, type RequiredField, required, text } from "./params.ts";

/** What a debug session may do in its namespace: the lines `debug/<mode>` of a plan. */
export const DEBUG_MODES = ["logs", "read", "exec", "port-forward"] as const;
export type DebugMode = (typeof DEBUG_MODES)[number];

/** A rule of a policy may let these run by themselves; every other mode needs an approved grant. */
export const UNATTENDED_DEBUG: readonly string[] = ["debug/logs", "debug/read"];

/** Whether a command is a debug session's: the operator opens a session for it and runs nothing itself. */
export function isDebug(command: string): boolean {
  return command.startsWith("debug/");
}

const selector = text(256, /^[A-Za-z0-9!][A-Za-z0-9_./=!,() -]*$/, "a label selector such as app=web,tier!=db");
const clientKey = required(text(43, /^[A-Za-z0-9_-]{43}$/, "the SHA-256 of a public key, base64url"));
const port = integer(1, 65_535);
const ports: Field<readonly number[]> = {
  required: false,
  expects: "1 to 8 different port numbers",
  accepts: (value): value is readonly number[] =>
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= 8 &&
    new Set(value).size === value.length &&
    value.every(port.accepts),
};

interface DebugDeclaration {
  readonly mode: DebugMode;
  /** `debug/<mode>`, as plans and policies write it. */
  readonly command: string;
  readonly tier: Tier;
  readonly params: ParamsSpec & { readonly namespace: RequiredField<string> };
}

/**
 * Lines of a plan that asks for a debug session, as the customer's side knows them. The platform has its own list; a
 * test compares the two.
 */
export const DEBUG_OPERATIONS: readonly DebugDeclaration[] = [
  declared("logs", "read-only", { selector }),
  declared("read", "read-only", {}),
  declared("exec", "destructive", { selector }),
  declared("port-forward", "mutating", { selector, ports }),
];

function declared(mode: DebugMode, tier: Tier, optional: ParamsSpec): DebugDeclaration {
  const namespace = required(label);
  // `mode` repeats the command's word, so that the params alone say what is asked for.
  const params = { namespace, mode: required(oneOf([mode])), clientKey, ...optional };
  return { mode, command: `debug/${mode}`, tier, params };
}
