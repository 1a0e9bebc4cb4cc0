import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

/** What each part of a release is made from. */
export interface Making {
  readonly version: string;
  /** The commit. */
  readonly revision: string;
  /** The commit's time, in seconds since 1970: that of all files in it. */
  readonly at: number;
  /** Where the archives of a version can be fetched. */
  readonly downloads: string;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A file of the release, by its path in the release's folder. */
export type Made = readonly (readonly [path: string, content: Uint8Array | string])[];
