import type { Tier } from "../plan.ts";
import { type ParamsSpec, type RequiredField, required, text } from "./params.ts";

/** What may be done to one machine: the lines `machines/<act>` of a plan. Removing deletes the node once it is empty. */
const MACHINE_ACTS = ["drain", "remove"] as const;
export type MachineAct = (typeof MACHINE_ACTS)[number];

/** Whether a line is about a machine: the operator runs nothing for it, and says whether it covers a MachineDrain. */
export function isOfMachines(command: string): boolean {
  return command.startsWith("machines/");
}

const machineId = required(text(128, /^[A-Za-z0-9][A-Za-z0-9._-]*$/, "the id of a machine"));

interface MachineDeclaration {
  readonly act: MachineAct;
  /** `machines/<act>`, as plans and policies write it. */
  readonly command: `machines/${MachineAct}`;
  readonly tier: Tier;
  readonly params: ParamsSpec & { readonly machineId: RequiredField<string> };
}

/**
 * Lines of a plan that covers a drain or a removal, as the customer's side knows them. The operator runs none of them: a
 * MachineDrain names the grant that covers it. The platform has its own list; a test compares the two.
 */
export const MACHINE_OPERATIONS: readonly MachineDeclaration[] = [
  { act: "drain", command: "machines/drain", tier: "mutating", params: { machineId } },
  { act: "remove", command: "machines/remove", tier: "destructive", params: { machineId } },
];
