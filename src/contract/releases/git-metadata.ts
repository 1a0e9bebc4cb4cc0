import Type, { type Static } from "typebox";
import { GitHostName } from "../projects/git-namespaces.ts";
import { Maybe, Nullable, Strict, Timestamp } from "../wire/schema.ts";

const text = (maxLength: number) => Type.String({ maxLength });
const commitSha = Type.String({ pattern: "^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$" });
const uri = Type.String({ format: "uri", maxLength: 2048 });
const provider = Strict({
  type: GitHostName,
  org: Type.String({ minLength: 1, maxLength: 256 }),
  repo: Type.String({ minLength: 1, maxLength: 256 }),
});

/** Where a release was built from, as its builder says it: left out and null mean the same. */
export const NewGitMetadata = Strict({
  commitSha: Maybe(commitSha),
  commitMessage: Maybe(text(1024)),
  commitRef: Maybe(text(256)),
  commitDate: Maybe(Timestamp),
  dirty: Maybe(Type.Boolean()),
  remoteUrl: Maybe(text(2048)),
  commitAuthorName: Maybe(text(256)),
  commitAuthorEmail: Maybe(text(256)),
  commitAuthorLogin: Maybe(text(256)),
  commitAuthorAvatarUrl: Maybe(uri),
  provider: Maybe(provider),
});
export type NewGitMetadata = Static<typeof NewGitMetadata>;

/** The same as it is read: every field is there. */
export const GitMetadata = Strict({
  commitSha: Nullable(Type.String()),
  commitMessage: Nullable(Type.String()),
  commitRef: Nullable(Type.String()),
  commitDate: Nullable(Timestamp),
  dirty: Nullable(Type.Boolean()),
  remoteUrl: Nullable(Type.String()),
  commitAuthorName: Nullable(Type.String()),
  commitAuthorEmail: Nullable(Type.String()),
  commitAuthorLogin: Nullable(Type.String()),
  commitAuthorAvatarUrl: Nullable(Type.String()),
  provider: Nullable(provider),
});
export type GitMetadata = Static<typeof GitMetadata>;
