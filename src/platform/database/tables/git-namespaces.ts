import type { GitNamespace } from "../../../contract/projects/git-namespaces.ts";

export interface GitNamespaceTables {
  git_namespaces: GitNamespaceRow;
}

export interface GitNamespaceRow {
  user_id: string;
  provider: GitNamespace["provider"];
  slug: string;
  /** The git host's own id for it. */
  host_id: number | null;
  name: string;
  installation_id: number | null;
  type: GitNamespace["type"];
  created_at: Date;
}
