import { createHash } from "node:crypto";
import { counted } from "../../../../base/counted.ts";
import { contentDigest } from "../../../../crds/content-digest.ts";
import type { ReleaseManifest } from "../../../../crds/kinds/release-content.ts";
import type { RolloutPlan } from "../../../../crds/kinds/rollout.ts";
import { printableLine } from "../../../../crds/printable.ts";
import type { Override } from "../../give-way.ts";
import { type RuleProblem, refOf } from "../../release-rules.ts";
import { templateOf } from "../../rule-nodes.ts";
import { sizeLine, sizesOf } from "../../sizes.ts";
import type { Intent, Planned } from "../hands.ts";
import type { SecretCopy } from "../release-secrets.ts";
import { borrowed } from "./borrowed.ts";
import { imagesOf } from "./images.ts";

/** What a plan may say; the schema of Rollout has the same bounds. */
const MAX_CHANGES = 100;
/** Lines that are kept for new images: what they do is in no other line. */
const MIN_NEW_IMAGES = 30;
const MAX_TOLD = 50;
const MAX_LINE = 400;
const MAX_REF = 320;
const ENDS_IT = ", because of what cannot be changed";
const FROM_NOW_ON = ", and may delete it when a later release has it no more";

interface Change {
  readonly ref: string;
  readonly fields: readonly string[];
}

interface Adopted extends Change {
  /** With all that the customer has put into it. */
  readonly manifest: ReleaseManifest;
}

/** What the dry runs have shown. */
export interface Shown {
  readonly created: readonly string[];
  /** The customer's until now. */
  readonly adopted: readonly Adopted[];
  readonly changed: readonly Change[];
  /** Fields of them cannot be changed: they are deleted, and made anew. */
  readonly recreated: readonly Change[];
  readonly unchanged: number;
  readonly pruned: readonly string[];
  /** Deleted as well: Jobs that have ended, so that nothing stops. */
  readonly ended: readonly string[];
  /** Lines on what does not run for a while, and on what no way back takes away, sorted. */
  readonly risks: readonly string[];
  /** Lines on what of the customer's the release comes to have to do with, sorted. */
  readonly met: readonly string[];
  /** Lines on objects of the customer's that name what this release makes, sorted. */
  readonly referred: readonly string[];
  readonly overrides: readonly (Override & { readonly ref: string })[];
  readonly problems: readonly RuleProblem[];
}

/** A status names each of them: what it does not name is not made anew. */
export const MAX_RECREATED = 50;

export const NOTHING_SHOWN: Shown = {
  ...{ created: [], adopted: [], changed: [], recreated: [], unchanged: 0, pruned: [], ended: [] },
  ...{ risks: [], met: [], referred: [], overrides: [], problems: [] },
};

/** The plan as the customer reads it, and the digest that an approval of it names. */
export function planned(intent: Intent, shown: Shown, copies: readonly SecretCopy[] = []): Planned {
  const { created, adopted, changed, recreated, pruned, ended, unchanged, risks, met, referred } = shown;
  const copied = copies.map(({ ref }) => ref);
  const fresh = [...created, ...adopted.map(({ ref }) => ref)];
  const { read, accounts, named } = borrowed([...intent.objects, ...adopted], fresh, copied);
  const running = new Set([...fresh, ...[...changed, ...recreated].map(({ ref }) => ref)]);
  const uses = [...copies.map(({ ref, keys }) => `copy ${ref} with ${keys.join(", ")}`), ...read];
  const names = named.map(([words, refs]) => withList(`names ${words}, in `, refs, "object"));
  const size = intent.objects.some(({ manifest }) => running.has(refOf(manifest)) && templateOf(manifest) !== undefined)
    ? sizeLine(sizesOf(intent.objects))
    : undefined;
  const sizes = size === undefined ? [] : [size];
  // What is lost first, and what comes anew last: a release could fill the list with that.
  const cameUp = intent.former.filter(({ manifest }) => intent.unfinished?.refs.has(refOf(manifest)) !== true);
  const images = imagesOf(intent.objects, cameUp, running, shown.overrides);
  const { contentName } = intent.rollout.spec;
  const lines = bounded([
    [
      ...recreated.map(({ ref, fields }) => withFields(`delete ${ref} and make it anew${ENDS_IT}`, fields)),
      ...pruned.map((ref) => `delete ${ref}`),
      ...ended.map((ref) => `delete ${ref}, which has ended`),
    ],
    risks,
    adopted.map(({ ref, fields }) => withFields(`adopts ${ref}${FROM_NOW_ON}`, fields)),
    uses,
    referred,
    met,
    accounts,
    [...sizes, ...names],
    // No part of the digest by themselves: they are of the content, whose digest is in it.
    {
      lines: images
        .filter(({ isNew }) => isNew)
        .map(({ image, refs }) => withList(`runs ${image}, new in this release, in `, refs, "object")),
      least: MIN_NEW_IMAGES,
      rest: (count) => `and ${count} more new images: ReleaseContent ${contentName} has all`,
    },
    changed.map(({ ref, fields }) => withFields(`change ${ref}`, fields)),
    created.map((ref) => `create ${ref}`),
    images.filter(({ isNew }) => !isNew).map(({ image, refs }) => withList(`runs ${image} in `, refs, "object")),
  ]);
  const overrides = shown.overrides.slice(0, MAX_TOLD).map(toldOverride);
  const problems = shown.problems.slice(0, MAX_TOLD).map(({ ref, message }) => ({
    ref: printableLine(ref, MAX_REF),
    message: printableLine(message, 512),
  }));
  const awaitsTakeOver = shown.problems.length > 0 && shown.problems.every(({ isAdoptable }) => isAdoptable === true);
  const plan: RolloutPlan = {
    create: created.length,
    change: changed.length + adopted.length,
    prune: pruned.length,
    ...(recreated.length > 0 && { recreate: recreated.map(({ ref }) => ref).slice(0, MAX_RECREATED) }),
    unchanged,
    ...(lines.length > 0 && { changes: lines }),
    ...(overrides.length > 0 && { overrides }),
    ...(problems.length > 0 && { refused: problems }),
  };
  return {
    plan,
    plannedDigest: plannedDigest(intent, shown, [...uses, ...accounts, ...referred, ...met, ...risks, ...names]),
    problems,
    awaitsTakeOver,
  };
}

/** An override fit for a status. */
export function toldOverride<O extends Override & { readonly ref: string }>({ ref, field, manager }: O) {
  return {
    ref: printableLine(ref, MAX_REF),
    field: printableLine(field, 256),
    manager: printableLine(manager, 128),
  };
}

function withFields(head: string, fields: readonly string[]): string {
  return fields.length === 0 ? head : withList(`${head}: `, fields, "field");
}

/** As many of these as the line has room for. */
function withList(head: string, items: readonly string[], word: string): string {
  let line = `${head}${items.join(", ")}`;
  for (let told = items.length - 1; line.length > MAX_LINE && told > 0; told -= 1) {
    line = `${head}${items.slice(0, told).join(", ")}, and ${counted(items.length - told, `more ${word}`)}`;
  }
  return line.length > MAX_LINE ? `${head}${counted(items.length, word)}` : line;
}

/** Lines that stand for each other where there are too many. */
interface LineClass {
  readonly lines: readonly string[];
  /** How many it has room for at least. */
  readonly least: number;
  /** Says how many are left out. */
  readonly rest: (count: number) => string;
}

/** Each class of lines has its share, so that none pushes another out; what one does not need is left to those after it. */
function bounded(all: readonly (readonly string[] | LineClass)[]): readonly string[] {
  const share = Math.floor((MAX_CHANGES - MIN_NEW_IMAGES) / (all.length - 1));
  const rest = (count: number): string => `and ${count} more of these`;
  const classes = all.map((each) => ("least" in each ? each : { lines: each, least: share, rest }));
  let free = MAX_CHANGES - classes.reduce((sum, { lines, least }) => sum + Math.min(lines.length, least), 0);
  return classes.flatMap(({ lines, least, rest: told }) => {
    const more = Math.min(Math.max(lines.length - least, 0), free);
    free -= more;
    const room = Math.min(lines.length, least) + more;
    const kept = lines.length > room ? lines.slice(0, room - 1) : lines;
    const left = lines.length - kept.length;
    return [...kept, ...(left > 0 ? [told(left)] : [])].map((line) => printableLine(line, MAX_LINE));
  });
}

/**
 * Over what was shown: the content, the action, which objects are created, adopted, changed, deleted, and left with fields
 * of others, what it uses beside them and stops, and the content that is gone back to. The same plan has the same digest after a crash;
 * a cluster that has changed since has another.
 */
function plannedDigest(
  { rollout, objects, formerRef }: Intent,
  { created, adopted, changed, recreated, pruned, ended, overrides }: Shown,
  uses: readonly string[],
): string {
  const text = JSON.stringify([
    rollout.spec.action,
    objects.length === 0 ? null : contentDigest(objects),
    created.toSorted(),
    adopted.map(({ ref }) => ref).toSorted(),
    changed.map(({ ref }) => ref).toSorted(),
    recreated.map(({ ref }) => ref).toSorted(),
    pruned.toSorted(),
    ended.toSorted(),
    [...new Set(overrides.map(({ ref }) => ref))].sort(),
    uses,
    formerRef === undefined ? null : [formerRef.name, formerRef.digest],
  ]);
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
