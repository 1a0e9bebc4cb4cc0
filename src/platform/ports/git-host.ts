import type { GitNamespace, GitRepository } from "../../contract/projects/git-namespaces.ts";

/** The git host that the platform is integrated with, if any. It knows the user by its address. */
export interface GitHost {
  /** The user's own namespace and its teams'. */
  namespaces(email: string, signal: AbortSignal): Promise<readonly Omit<GitNamespace, "provider" | "createdAt">[]>;
  repositories(
    namespace: { readonly slug: string; readonly installationId: number | null },
    search: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly GitRepository[]>;
}
