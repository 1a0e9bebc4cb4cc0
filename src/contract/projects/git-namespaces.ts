import Type, { type Static } from "typebox";
import { routes } from "../wire/route.ts";
import { Nullable, Strict, Timestamp, Words } from "../wire/schema.ts";

/** The one git host (§21), by either name. */
const GIT_PROVIDERS = ["git-host", "github"] as const;
export type GitProvider = (typeof GIT_PROVIDERS)[number];
const provider = Words(GIT_PROVIDERS);

/** Where a repository lies, in its own word: `git-host`, `github`, `gitlab`. An answer has what was sent. */
export const GitHostName = Type.String({
  pattern: "^[a-z][a-z0-9-]{0,31}$",
  examples: ["git-host", "github", "gitlab"],
});

/** An owner of repositories on the git host: the user's own account, or a team that it belongs to. */
export const GitNamespace = Strict({
  id: Nullable(Type.Integer()),
  name: Type.String(),
  slug: Type.String(),
  installationId: Nullable(Type.Integer()),
  type: Words(["team", "user"]),
  provider,
  createdAt: Timestamp,
});
export type GitNamespace = Static<typeof GitNamespace>;

export const GitRepository = Strict({
  name: Type.String(),
  private: Type.Boolean(),
  defaultBranch: Type.String(),
  pushedAt: Type.Optional(Timestamp),
});
export type GitRepository = Static<typeof GitRepository>;

const namespaces = Strict({ items: Type.Array(GitNamespace) });

export const gitNamespaceRoutes = routes({
  list: {
    method: "GET",
    path: "/v1/user/git-namespaces",
    summary: "Lists the user's namespaces on the git host as they were last synced, the personal one first.",
    roles: ["user"],
    query: Type.Object({ provider: Type.Optional(Type.Unsafe<GitProvider>({ ...provider, default: "git-host" })) }),
    success: 200,
    response: namespaces,
    errors: [],
    repeat: "safe",
    workspace: "exempt",
  },
  sync: {
    method: "POST",
    path: "/v1/user/git-namespaces/sync",
    summary: "Asks the git host for the user's namespaces.",
    roles: ["user"],
    body: Strict({ provider }),
    success: 200,
    response: namespaces,
    errors: ["GIT_HOST_NOT_CONFIGURED", "SERVICE_UNAVAILABLE"],
    repeat: "natural",
    callsOut: true,
    workspace: "exempt",
  },
  listRepositories: {
    method: "GET",
    path: "/v1/user/git-namespaces/{id}/repositories",
    summary: "Lists at most 100 repositories of a namespace, the last pushed to first.",
    roles: ["user"],
    params: Strict({ id: Type.String({ pattern: "^[0-9]{1,15}$" }) }),
    query: Type.Object({ search: Type.Optional(Type.String({ maxLength: 256, description: "Part of the name." })) }),
    success: 200,
    response: Strict({ items: Type.Array(GitRepository) }),
    errors: ["NOT_FOUND", "GIT_HOST_NOT_CONFIGURED", "SERVICE_UNAVAILABLE"],
    repeat: "safe",
    callsOut: true,
    workspace: "exempt",
  },
});
