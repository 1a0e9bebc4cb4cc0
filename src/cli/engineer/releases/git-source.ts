import type { NewGitMetadata } from "../../../contract/releases/git-metadata.ts";
import { FriendlyError } from "../../kernel/command.ts";
import type { Surroundings } from "../calling.ts";

/** `--git`: the commit that is checked out where the command runs. A credential of the remote stays on this machine. */
export async function gitSource({ runTool }: Surroundings, signal: AbortSignal): Promise<NewGitMetadata> {
  const git = async (...args: readonly string[]): Promise<string | undefined> => {
    const said = await runTool?.("git", args, signal);
    if (said === undefined) throw new FriendlyError("--git: git is not on the PATH");
    return said.code === 0 ? said.stdout.trim() : undefined;
  };
  const log = await git("log", "-1", "--format=%H%x00%cI%x00%an%x00%ae%x00%B");
  if (log === undefined) throw new FriendlyError("--git: there is no commit here");
  const [commitSha, commitDate, name, email, message] = log.split("\0");
  const [status, commitRef, remoteUrl] = [
    await git("status", "--porcelain"),
    await git("symbolic-ref", "--quiet", "HEAD"),
    await git("remote", "get-url", "origin"),
  ];
  return {
    commitSha: commitSha ?? null,
    commitDate: commitDate ?? null,
    commitAuthorName: short(name, 256),
    commitAuthorEmail: short(email, 256),
    commitMessage: short(message, 1024),
    commitRef: short(commitRef, 256),
    remoteUrl: short(remoteUrl === undefined ? undefined : withoutCredential(remoteUrl), 2048),
    dirty: status === undefined ? null : status !== "",
  };
}

/** Of ssh the user's name is kept: it is no secret there, and the address needs it. */
const KEEPS_USER: ReadonlySet<string> = new Set(["ssh:", "git+ssh:"]);
const SCHEMES: ReadonlySet<string> = new Set([...KEEPS_USER, "https:", "http:", "git:"]);

/**
 * The address of a remote without what may be a credential: user, password, query and fragment. Undefined where it cannot
 * be told what would be one.
 */
export function withoutCredential(remote: string): string | undefined {
  if (/^[\w.-]+@[\w.-]+:(?!\/\/)[^@]*$/.test(remote)) return remote;
  const url = URL.canParse(remote) ? new URL(remote) : undefined;
  if (url === undefined || !SCHEMES.has(url.protocol)) return /[@?#]/.test(remote) ? undefined : remote;
  if (!KEEPS_USER.has(url.protocol)) url.username = "";
  url.password = "";
  url.search = "";
  url.hash = "";
  return url.href;
}

function short(text: string | undefined, length: number): string | null {
  return text === undefined || text === "" ? null : text.slice(0, length).toWellFormed();
}
