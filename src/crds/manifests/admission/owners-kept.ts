import { forbid, type Validation } from "./admission-policy.ts";
import { type Level, sameBut } from "./same-but.ts";

/**
 * How deep a merged entry is read. Below, its fields must be exactly those of one entry before; no field of a workload
 * or a node is so deep that several writers share what is below.
 */
const MERGED_DEPTH = 10;

/**
 * Ownership (`managedFields`) may change for one field only, to which `below` leads under `spec`. A client may write
 * managedFields: if it gives a field a false owner, the true owner's next server-side apply deletes that field; and if
 * it adds a thousand entries, each later write of the object takes the API server a minute. So a write adds one entry
 * at most, of the kind that a merge patch leaves: operation `Update`, no subresource, that field alone. Beyond ten such
 * entries the API server itself merges the oldest into `ancient-changes`, which may hold no field that none of them held.
 *
 * The count comes first: CEL then does not compare the entries of a long list, which takes time by its square.
 */
export function ownersKept(below: readonly [Level, ...Level[]]): Validation {
  const fields: readonly Level[] = [["f:spec"], ...below];
  const leaves = leavesOf(fields);
  const patched = "n.operation == 'Update' && !('subresource' in n) && n.apiVersion == variables.now.apiVersion";
  const onlyOfIt = (owner: string): string => sameBut(`${owner}[?'fieldsV1'].orValue({})`, "{}", fields);
  const bare = leaves.map((leaf) => `n${leaf}.orValue({}) == {}`).join(" && ");
  const same = sameBut("n", "o", [["fieldsV1", "time"], ...fields]);
  // An entry of `kubectl apply --server-side` may lose the field, and not gain it.
  const gained = leaves.map((leaf) => `(!n${leaf}.hasValue() || o${leaf}.hasValue())`).join(" && ");
  const merges = "variables.nowOwners.exists(n, n.manager == 'ancient-changes')";
  const isMerged =
    "n.manager == 'ancient-changes' && n.operation == 'Update' && !('subresource' in n) && " +
    `variables.wasOwners.exists(o, o.apiVersion == n.apiVersion) && ${heldBy("n", "variables.wasOwners")}`;
  const wasMerged = `o.operation == 'Update' && ${merges} && ${heldBy("o", "variables.nowOwners")}`;
  return forbid(
    "variables.nowOwners.size() <= variables.wasOwners.size() + 1 && " +
      `variables.nowOwners.all(n, (${patched} && ${bare} && ${onlyOfIt("n")}) || ` +
      `variables.wasOwners.exists(o, ${same} && ${bare} && ((${patched}) || (${gained}))) || (${isMerged})) && ` +
      `variables.wasOwners.all(o, (${onlyOfIt("o")}) || variables.nowOwners.exists(n, ${same}) || (${wasMerged}))`,
    "a grant account may not rewrite who owns which field (managedFields)",
  );
}

/** CEL after an entry: what it says of each field that may change, as optional values. */
function leavesOf(fields: readonly Level[]): readonly string[] {
  const way = fields.slice(0, -1).map(([key]) => `[?'${key}']`);
  const last = fields.at(-1) ?? [];
  return last.map((key) => `[?'fieldsV1']${way.join("")}[?'${key}']`);
}

/** CEL: each field of the entry `owner` is a field of one of `others` that a plain write has left. */
function heldBy(owner: string, others: string): string {
  const below = (value: string, way: string, depth: number): string => {
    const other = `x[?'fieldsV1']${way}`;
    const whole = `${others}.exists(x, x.operation == 'Update' && ${other}.orValue(null) == ${value})`;
    if (depth === MERGED_DEPTH) return whole;
    const key = `k${depth}`;
    const part = below(`${value}[${key}]`, `${way}[?${key}]`, depth + 1);
    return `(${whole} || (${others}.exists(x, x.operation == 'Update' && ${other}.hasValue()) && ${value}.all(${key}, ${part})))`;
  };
  return `('fieldsV1' in ${owner} && ${below(`${owner}.fieldsV1`, "", 0)})`;
}
