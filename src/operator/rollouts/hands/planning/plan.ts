import { createHash } from "node:crypto";
import { contentDigest } from "../../../../crds/content-digest.ts";
import type { RolloutPlan } from "../../../../crds/kinds/rollout.ts";
import { printableLine } from "../../../../crds/printable.ts";
import type { Override } from "../../give-way.ts";
import type { RuleProblem } from "../../release-rules.ts";
import type { Intent, Planned } from "../hands.ts";
import type { SecretCopy } from "../release-secrets.ts";
import { borrowed } from "./borrowed.ts";

/** What a plan may say; the schema of Rollout has the same bounds. */
const MAX_CHANGES = 100;
const MAX_TOLD = 50;
const MAX_LINE = 400;
const MAX_REF = 320;

/** What the dry runs have shown. */
export interface Shown {
  readonly created: readonly string[];
  readonly changed: readonly { readonly ref: string; readonly fields: readonly string[] }[];
  readonly unchanged: number;
  readonly pruned: readonly string[];
  readonly overrides: readonly (Override & { readonly ref: string })[];
  readonly problems: readonly RuleProblem[];
}

/** The plan as the customer reads it, and the digest that an approval of it names. */
export function planned(intent: Intent, shown: Shown, copies: readonly SecretCopy[] = []): Planned {
  const { created, changed, pruned, unchanged } = shown;
  const uses = [
    ...copies.map(({ ref, keys }) => `copy ${ref} with ${keys.join(", ")}`),
    ...borrowed(
      intent.objects,
      created,
      copies.map(({ ref }) => ref),
    ),
  ];
  // What is lost first: the list is cut, and a release could fill it with what it creates.
  const lines = [
    ...pruned.map((ref) => `delete ${ref}`),
    ...uses,
    ...changed.map(({ ref, fields }) => `change ${ref}: ${fields.join(", ")}`),
    ...created.map((ref) => `create ${ref}`),
  ];
  const overrides = shown.overrides.slice(0, MAX_TOLD).map(toldOverride);
  const problems = shown.problems.slice(0, MAX_TOLD).map(({ ref, message }) => ({
    ref: printableLine(ref, MAX_REF),
    message: printableLine(message, 512),
  }));
  const plan: RolloutPlan = {
    create: created.length,
    change: changed.length,
    prune: pruned.length,
    unchanged,
    ...(lines.length > 0 && { changes: bounded(lines) }),
    ...(overrides.length > 0 && { overrides }),
    ...(problems.length > 0 && { refused: problems }),
  };
  return { plan, plannedDigest: plannedDigest(intent, shown, uses), problems };
}

/** An override fit for a status. */
export function toldOverride<O extends Override & { readonly ref: string }>({ ref, field, manager }: O) {
  return {
    ref: printableLine(ref, MAX_REF),
    field: printableLine(field, 256),
    manager: printableLine(manager, 128),
  };
}

function bounded(lines: readonly string[]): string[] {
  const kept = lines.length > MAX_CHANGES ? lines.slice(0, MAX_CHANGES - 1) : lines;
  const rest = lines.length > MAX_CHANGES ? [`and ${lines.length - kept.length} more`] : [];
  return [...kept.map((line) => printableLine(line, MAX_LINE)), ...rest];
}

/**
 * Over what was shown: the content, the action, which objects are created, changed, deleted, and left with fields of
 * others, what it uses beside them, and the content that is gone back to. The same plan has the same digest after a crash;
 * a cluster that has changed since has another.
 */
function plannedDigest(
  { rollout, objects, formerRef }: Intent,
  { created, changed, pruned, overrides }: Shown,
  uses: readonly string[],
): string {
  const text = JSON.stringify([
    rollout.spec.action,
    objects.length === 0 ? null : contentDigest(objects),
    created.toSorted(),
    changed.map(({ ref }) => ref).toSorted(),
    pruned.toSorted(),
    [...new Set(overrides.map(({ ref }) => ref))].sort(),
    uses,
    formerRef === undefined ? null : [formerRef.name, formerRef.digest],
  ]);
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
