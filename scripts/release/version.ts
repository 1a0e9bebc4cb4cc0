/** What a release is called, and what has to agree with it. */
export interface VersionFacts {
  /** `--version`, where it was given. */
  readonly asked: string | undefined;
  /** Of package.json, which all packages, images and the program say. */
  readonly manifest: string;
  /** Of Chart.yaml. */
  readonly chart: string;
  /** The newest of chart-changes.ts. */
  readonly changes: string | undefined;
  /** Of the commit. */
  readonly tags: readonly string[];
  /** Lines of `git status --porcelain`. */
  readonly changed: readonly string[];
  /** `--dirty`: a trial. */
  readonly isTrial: boolean;
}

/** A release cannot be made like this; the message says what to do. */
export class ReleaseError extends Error {
  override readonly name = "ReleaseError";
}

const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

/** @returns the version @throws ReleaseError when something does not agree with it */
export function checkedVersion(facts: VersionFacts): string {
  const { asked, manifest, chart, changes, tags, changed, isTrial } = facts;
  if (!VERSION.test(manifest)) {
    throw new ReleaseError(`package.json has the version ${manifest}: it needs three numbers, as 1.2.3`);
  }
  if (asked !== undefined && !VERSION.test(asked)) {
    throw new ReleaseError(`--version is ${asked}: it needs three numbers, as 1.2.3`);
  }
  if (asked !== undefined && asked !== manifest) {
    const how = `npm version ${asked} --no-git-tag-version, its changes in chart-changes.ts, npm run generate, commit`;
    throw new ReleaseError(`package.json has version ${manifest}, not ${asked}: ${how}`);
  }
  if (changes !== manifest) {
    const what = `scripts/generate/chart/chart-changes.ts begins with ${changes ?? "nothing"}`;
    throw new ReleaseError(`${what}: the changelog needs the changes of ${manifest}`);
  }
  if (chart !== manifest) throw new ReleaseError(`Chart.yaml has version ${chart}, not ${manifest}: npm run generate`);
  if (changed.length > 0 && !isTrial) {
    const shown = changed.slice(0, 5).join(", ");
    throw new ReleaseError(`the work tree has changes that no commit has (${shown}): commit them, or try with --dirty`);
  }
  if (asked === undefined && !isTrial && !tags.includes(`v${manifest}`)) {
    const how = `git tag v${manifest}, or --version ${manifest} for a release without a tag`;
    throw new ReleaseError(`the commit has no tag v${manifest}: ${how}`);
  }
  return manifest;
}
