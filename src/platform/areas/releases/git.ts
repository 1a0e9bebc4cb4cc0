import type { GitMetadata, NewGitMetadata } from "../../../contract/releases/git-metadata.ts";

/**
 * Normalises metadata: every field present, sha in lower case, times in UTC, and no credential in the remote's address.
 */
export function toGitMetadata(given: NewGitMetadata): GitMetadata {
  return {
    commitSha: given.commitSha?.toLowerCase() ?? null,
    commitMessage: given.commitMessage ?? null,
    commitRef: given.commitRef ?? null,
    commitDate: given.commitDate == null ? null : new Date(given.commitDate).toISOString(),
    dirty: given.dirty ?? null,
    remoteUrl: given.remoteUrl == null ? null : withoutCredentials(given.remoteUrl),
    commitAuthorName: given.commitAuthorName ?? null,
    commitAuthorEmail: given.commitAuthorEmail ?? null,
    commitAuthorLogin: given.commitAuthorLogin ?? null,
    commitAuthorAvatarUrl: given.commitAuthorAvatarUrl ?? null,
    provider: given.provider ?? null,
  };
}

/** `refs/heads/main` and `main` are one branch. */
export function branchOf(ref: string): string {
  return ref.replace(/^refs\/heads\//, "");
}

/**
 * Build machines clone with a token in the address. The record must not contain it, because many callers may read it
 * (§0.1).
 */
function withoutCredentials(remoteUrl: string): string {
  return remoteUrl.replace(/^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)@/i, (all, scheme: string, user: string) =>
    /^ssh:/i.test(scheme) && !user.includes(":") ? all : scheme,
  );
}

/**
 * The web page of the commit: the remote as https without `.git` and credentials, and `/commit/<sha>`. Null without
 * remote or sha, and for a remote that is not an address, such as a path on the builder's disk.
 */
export function commitUrlOf(git: GitMetadata | null): string | null {
  if (git === null || git.remoteUrl === null || git.commitSha === null) return null;
  // The short ssh form `git@host:org/repo.git` is not a URL.
  const short = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)(.+)$/.exec(git.remoteUrl);
  const text = short === null ? git.remoteUrl : `ssh://${short[1]}/${short[2]}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === "" || !/^(https?|ssh|git|git\+ssh):$/.test(url.protocol)) return null;
  // The port of ssh or git is not that of the web server.
  const host = url.protocol.startsWith("http") ? url.host : url.hostname;
  const path = url.pathname.replace(/(?<!\/)\/+$/, "").replace(/\.git$/, "");
  const address = `https://${host}${path}/commit/${git.commitSha}`;
  return path !== "" && URL.canParse(address) ? new URL(address).href : null;
}
