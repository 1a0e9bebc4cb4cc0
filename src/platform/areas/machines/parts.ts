import type { machineRuntimeRoutes } from "../../../contract/machines/machines.ts";
import type { BodyOf } from "../../../contract/wire/route.ts";
import type { InventoryParts } from "../../database/tables/machines.ts";

type Inventory = BodyOf<(typeof machineRuntimeRoutes)["report"]>;

/**
 * The list that is being told in parts, after one more of them. A part of another list, also one with another time or
 * number of parts, begins anew; a part that is told twice counts once. Undefined: the report is no part of a list.
 */
export function partsAfter(
  known: InventoryParts | null,
  { part, complete, observedAt }: Pick<Inventory, "part" | "complete" | "observedAt">,
): InventoryParts | undefined {
  if (part === undefined || !complete) return undefined;
  const { id, of, index } = part;
  const goesOn = known !== null && known.id === id && known.of === of && known.observedAt === observedAt;
  const seen = new Set(goesOn ? known.seen : []).add(index);
  return { id, of, observedAt, seen: [...seen].toSorted((a, b) => a - b) };
}

/** Whether a report, with the parts before it, names every machine that there is. */
export function isWhole({ complete }: Pick<Inventory, "complete">, parts: InventoryParts | undefined): boolean {
  return complete && (parts === undefined || parts.seen.length === parts.of);
}
