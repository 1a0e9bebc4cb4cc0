import type { GitNamespace, GitRepository } from "../../contract/projects/git-namespaces.ts";

/** The git host that the platform is connected to, if any. It identifies the user by the address. */
export interface GitHost {
  /** The user's own namespace and those of its teams. */
  namespaces(email: string, signal: AbortSignal): Promise<readonly Omit<GitNamespace, "provider" | "createdAt">[]>;
  repositories(
    namespace: { readonly slug: string; readonly installationId: number | null },
    search: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly GitRepository[]>;
}
