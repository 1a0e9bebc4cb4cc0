import { forbid, type Named, type Validation } from "./admission-policy.ts";
import { type Levels, nothingBut, sameBut } from "./same-but.ts";

/**
 * How deep a merged entry is read. Below, its fields must be exactly those of one entry before; no field of a workload
 * or a node is so deep that several writers share what is below.
 */
const MERGED_DEPTH = 10;

/** The validation needs the variables, and `nowOwners`, `wasOwners` before them. */
interface OwnersKept {
  readonly variables: readonly Named[];
  readonly validation: Validation;
}

/**
 * Ownership (`managedFields`) may change for one field only, to which `below` leads under `spec`. A client may write
 * managedFields: if it gives a field a false owner, the true owner's next server-side apply deletes that field; and if
 * it adds a thousand entries, each later write of the object takes the API server a minute. So a write adds one entry
 * at most, of the kind that a merge patch leaves: operation `Update`, no subresource, that field alone. Beyond ten such
 * entries the API server itself merges the oldest into `ancient-changes`, which may hold no field that none of them held.
 *
 * The count comes first: CEL then does not compare the entries of a long list, which takes time by its square.
 */
export function ownersKept(below: Levels): OwnersKept {
  const fields: Levels = [["f:spec"], ...below];
  const leaves = leavesOf(fields);
  const patched = "n.operation == 'Update' && !('subresource' in n) && n.apiVersion == variables.now.apiVersion";
  const onlyOfIt = (owner: string): string => nothingBut(`${owner}[?'fieldsV1'].orValue({})`, fields);
  const bare = leaves.map((leaf) => `n${leaf}.orValue({}) == {}`).join(" && ");
  const same = sameBut("n", "o", [["fieldsV1", "time"], ...fields]);
  // An entry of `kubectl apply --server-side` may lose the field, and not gain it.
  const gained = leaves.map((leaf) => `(!n${leaf}.hasValue() || o${leaf}.hasValue())`).join(" && ");
  const merges = "variables.nowOwners.exists(n, n.manager == 'ancient-changes')";
  const isMerged =
    "n.manager == 'ancient-changes' && n.operation == 'Update' && !('subresource' in n) && " +
    `variables.wasOwners.exists(o, o.apiVersion == n.apiVersion) && ${heldBy("n", "variables.wasWritten")}`;
  const wasMerged = `o.operation == 'Update' && ${merges} && ${heldBy("o", "variables.nowWritten")}`;
  const written = "x, x.operation == 'Update' && 'fieldsV1' in x, x.fieldsV1";
  return {
    variables: [
      { name: "nowWritten", expression: `variables.nowOwners.map(${written})` },
      { name: "wasWritten", expression: `variables.wasOwners.map(${written})` },
      {
        name: "nowKept",
        expression:
          `variables.nowOwners.all(n, (${bare} && ((${patched} && ${onlyOfIt("n")}) || ` +
          `variables.wasOwners.exists(o, ${same} && ((${patched}) || (${gained}))))) || (${isMerged}))`,
      },
      {
        name: "wasKept",
        expression: `variables.wasOwners.all(o, (${onlyOfIt("o")}) || variables.nowOwners.exists(n, ${same}) || (${wasMerged}))`,
      },
    ],
    validation: forbid(
      "variables.nowOwners.size() <= variables.wasOwners.size() + 1 && variables.nowKept && variables.wasKept",
      "a grant account may not rewrite who owns which field (managedFields)",
    ),
  };
}

/** CEL after an entry: what it says of each field that may change, as optional values. */
function leavesOf(fields: Levels): readonly string[] {
  const way = fields.slice(0, -1).map(([key]) => `[?'${key}']`);
  const last = fields.at(-1) ?? [];
  return last.map((key) => `[?'fieldsV1']${way.join("")}[?'${key}']`);
}

/**
 * CEL: each field of the entry `owner` is a field of one of those whose fields stand in the list `others`. On each level `v` is
 * what lies below the key so far, and `l` the same of those others that have the key: lists of one element give the names.
 */
function heldBy(owner: string, others: string): string {
  const held = (depth: number): string =>
    depth === MERGED_DEPTH
      ? "v in l"
      : `l != [] && (v in l || v.all(k, [v[k]].all(v, [l.map(x, k in x, x[k])].all(l, ${held(depth + 1)}))))`;
  return `'fieldsV1' in ${owner} && [${owner}.fieldsV1].all(v, [${others}].all(l, ${held(0)}))`;
}
