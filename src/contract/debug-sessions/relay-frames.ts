import Type, { type Static } from "typebox";
import { Compile } from "typebox/compile";
import { Strict, Timestamp, Words } from "../wire/schema.ts";
import { CLOSE_REASONS } from "./debug-sessions.ts";

/**
 * The text frames of a debug session's WebSockets. Binary frames are bytes for the other side, which the relay neither
 * reads nor keeps.
 */
const Epoch = Type.Integer({ minimum: 1, maximum: 2 ** 31 });
const Close = Strict({ type: Type.Literal("close"), reason: Words(CLOSE_REASONS) });

/** Said by the relay. */
const RelayFrame = Type.Union([
  // Both sides are there. Each begins anew, because bytes of the epoch before are lost with the socket that carried them.
  Strict({ type: Type.Literal("peer"), epoch: Epoch }),
  // The other side has lost its socket and may come back.
  Strict({ type: Type.Literal("gone") }),
  // The end of the session, at the start and whenever it comes nearer.
  Strict({ type: Type.Literal("until"), at: Timestamp }),
  Close,
]);
export type RelayFrame = Static<typeof RelayFrame>;

/** Said by a side. */
const SideFrame = Type.Union([
  // What follows belongs to this epoch. Bytes before it belong to an earlier one, and the relay drops them.
  Strict({ type: Type.Literal("ready"), epoch: Epoch }),
  Close,
]);
export type SideFrame = Static<typeof SideFrame>;

const relayFrame = Compile(RelayFrame);
const sideFrame = Compile(SideFrame);

/** Undefined for a text that is no frame of the relay's. */
export function readRelayFrame(text: string): RelayFrame | undefined {
  return read(relayFrame, text);
}

/** Undefined for a text that is no frame of a side's. */
export function readSideFrame(text: string): SideFrame | undefined {
  return read(sideFrame, text);
}

function read<T>(schema: { Check(value: unknown): value is T }, text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return schema.Check(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
