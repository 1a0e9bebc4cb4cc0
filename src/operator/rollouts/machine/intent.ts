import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../base/is-record.ts";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { Rollout } from "../../../crds/kinds/rollout.ts";
import { kindAndGroup } from "../../../crds/released/release-kinds.ts";
import type { Intent } from "../hands/hands.ts";
import { secretsNamed } from "../hands/secret-places.ts";
import { refOf } from "../release-rules.ts";
import type { ContentRef } from "./trail.ts";

/** The contents that a rollout is between. One that is gone, or is not what it was, has no objects and says so. */
export interface Contents {
  /** Undefined: the action has none. */
  readonly own: ReadContent | undefined;
  /** Undefined: nothing is installed. */
  readonly former: ReadContent | undefined;
  readonly leftovers: readonly ReadContent[];
  /** When the first rollout began that came to no good end since; undefined: there is none. */
  readonly unfinishedSince: string | undefined;
}

export interface ReadContent extends ContentRef {
  readonly objects: readonly ReleaseObject[];
  readonly problem?: { readonly reason: "ContentMissing" | "ContentChanged"; readonly message: string };
}

/**
 * To the new content, with the objects of the setup: those that are there are changed only while nothing is installed, but
 * what is missing of them is made, and the rules of releases judge the others together with them. What the platform calls the
 * rollout counts for nothing here.
 */
export function forward(rollout: Rollout, contents: Contents, accepted: readonly string[]): Intent {
  const former = [...(contents.former?.objects ?? []), ...contents.leftovers.flatMap((each) => each.objects)];
  return intentOf(rollout, contents, contents.own?.objects ?? [], former, former, accepted);
}

/** Back to the former content: what the new one has beyond it is deleted. */
export function backward(rollout: Rollout, contents: Contents, accepted: readonly string[]): Intent {
  const beyond = [...(contents.own?.objects ?? []), ...contents.leftovers.flatMap((each) => each.objects)];
  const objects = contents.former?.objects ?? [];
  // Also what this rollout has made: it came to no good end either.
  const unfinishedSince = contents.unfinishedSince ?? rollout.status?.startedAt;
  const all = { ...contents, unfinishedSince };
  const intent = intentOf(rollout, all, objects, without(beyond, objects), objects, accepted);
  // Also of objects that are in both contents: the newer one reads other values.
  return { ...intent, formerSecrets: secretsNamed(beyond, rollout.spec.deploymentId) };
}

/** Namespaces of these objects that the customer does not accept the deployment for (any more). */
export function closedNamespaces({ objects, namespaces }: Pick<Intent, "objects" | "namespaces">): readonly string[] {
  const named = objects.map(({ manifest }) => manifest.metadata.namespace ?? "");
  return [...new Set(named)].filter((namespace) => !namespaces.includes(namespace)).sort();
}

/** Namespaces of these objects, and of those before, that the customer accepts the deployment for. */
export function openNamespaces({ objects, former, namespaces }: Intent): readonly string[] {
  const named = new Set([...objects, ...former].map(({ manifest }) => manifest.metadata.namespace));
  return namespaces.filter((namespace) => named.has(namespace));
}

/** Numbers of the waves that have objects, first to last. */
export function wavesOf({ objects }: Pick<Intent, "objects">): readonly number[] {
  return [...new Set(objects.map(({ wave }) => wave))].sort((one, other) => one - other);
}

function intentOf(
  rollout: Rollout,
  contents: Contents,
  objects: readonly ReleaseObject[],
  former: readonly ReleaseObject[],
  installed: readonly ReleaseObject[],
  accepted: readonly string[],
): Intent {
  const isOpen = ({ manifest }: ReleaseObject): boolean => accepted.includes(manifest.metadata.namespace ?? "");
  const kept = new Set(objects.map(refOfLine));
  const { unfinishedSince } = contents;
  return {
    ...{ rollout, objects, done: doneJobs(objects, contents.former?.objects ?? []) },
    former: unique(former.filter(isOpen)),
    installed: [...new Set(installed.map(refOfLine))],
    formerSecrets: secretsNamed(former, rollout.spec.deploymentId),
    installedSecrets: secretsNamed(contents.former?.objects ?? [], rollout.spec.deploymentId),
    formerRef: contents.former && { name: contents.former.name, digest: contents.former.digest },
    // Of a former content that cannot be read nothing is known, and so not what only the others have.
    ...(unfinishedSince !== undefined &&
      contents.former?.problem === undefined && {
        unfinished: {
          since: unfinishedSince,
          refs: new Set(without(former, contents.former?.objects ?? []).map(refOfLine)),
        },
      }),
    closed: unique(former)
      .filter((line) => !isOpen(line) && !kept.has(refOfLine(line)))
      .map(refOfLine),
    takeOver: rollout.spec.takeOver ?? [],
    namespaces: accepted,
  };
}

/**
 * Jobs that the installed content has completed, and that are the same, or of the setup, in this one. A job of the setup
 * that fills a database would else fill it again with the first update after its time to live.
 */
function doneJobs(objects: readonly ReleaseObject[], installed: readonly ReleaseObject[]): readonly string[] {
  const before = new Map(installed.filter(isToComplete).map((line) => [refOfLine(line), line]));
  const isDone = (line: ReleaseObject): boolean => {
    const known = before.get(refOfLine(line));
    return known !== undefined && (line.frozen || isDeepStrictEqual(line.manifest.spec, known.manifest.spec));
  };
  return objects.filter(isDone).map(refOfLine);
}

/** A suspended Job has not run. */
function isToComplete({ manifest }: ReleaseObject): boolean {
  const isSuspended = isRecord(manifest.spec) && manifest.spec.suspend === true;
  return kindAndGroup(manifest) === "Job.batch" && !isSuspended;
}

function without(lines: readonly ReleaseObject[], others: readonly ReleaseObject[]): readonly ReleaseObject[] {
  const refs = new Set(others.map(refOfLine));
  return lines.filter((line) => !refs.has(refOfLine(line)));
}

function unique(lines: readonly ReleaseObject[]): readonly ReleaseObject[] {
  const seen = new Set<string>();
  return lines.filter((line) => {
    const ref = refOfLine(line);
    return !seen.has(ref) && seen.add(ref);
  });
}

function refOfLine({ manifest }: ReleaseObject): string {
  return refOf(manifest);
}
