import type { NewGitMetadata } from "../../../contract/releases/git-metadata.ts";
import { FriendlyError } from "../../kernel/command.ts";
import type { Surroundings } from "../calling.ts";

/** `--git`: the commit that is checked out where the command runs. The platform removes a credential of the remote. */
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
    remoteUrl: short(remoteUrl, 2048),
    dirty: status === undefined ? null : status !== "",
  };
}

function short(text: string | undefined, length: number): string | null {
  return text === undefined || text === "" ? null : text.slice(0, length).toWellFormed();
}
