import type { Route } from "../../contract/wire/route.ts";
import { isWorkspaceName } from "../../contract/wire/schema.ts";
import type { Authenticator, Credential, Presented } from "../kernel/call/credential.ts";
import { invalid, PlatformError } from "../kernel/errors.ts";
import type { Caller } from "../kernel/tenancy/principal.ts";

/** Step 2 of the checks: the first authenticator that recognises the credential decides. @throws a 401. */
export async function authenticate(
  authenticators: readonly Authenticator[],
  request: Presented,
  now: Date,
): Promise<Credential> {
  for (const authenticator of authenticators) {
    const credential = await authenticator(request, now);
    if (credential !== undefined) return credential;
  }
  throw new PlatformError("UNAUTHENTICATED");
}

/** Step 4: reads the `workspace` parameter. @throws VALIDATION_ERROR when it cannot be a workspace's name. */
export function workspaceOf(search: URLSearchParams): string | undefined {
  const given = search.getAll("workspace");
  const [name] = given;
  if (name === undefined) return undefined;
  if (given.length === 1 && isWorkspaceName(name)) return name;
  throw invalid({ path: "query.workspace", message: "is not a workspace name" });
}

/**
 * Step 5: the caller's role must be in the route's list; nothing else decides.
 * @throws FORBIDDEN; WRONG_TOKEN_KIND on routes for the token of a link, where another credential is not a matter of
 * rights but of the wrong kind.
 */
export function admit(route: Route, principal: Caller): void {
  if (mayCall(route.roles, principal)) return;
  if (route.errors.includes("WRONG_TOKEN_KIND")) throw new PlatformError("WRONG_TOKEN_KIND");
  const requiredRoles = typeof route.roles === "string" ? [route.roles] : route.roles;
  const forPeople = requiredRoles.every((role) => role === "user") && principal.kind === "serviceAccount";
  const message = "only signed-in people may do that, and this is a key: `sallyport login` without --key";
  throw new PlatformError("FORBIDDEN", { context: { requiredRoles }, ...(forPeople && { message }) });
}

function mayCall(audience: Route["roles"], principal: Caller): boolean {
  switch (audience) {
    case "any":
    case "public":
      return true;
    case "setup-token":
      return principal.kind === "serviceAccount" && principal.setupFor !== null;
    // Relay tickets are not principals: the relay routes check them on the upgrade.
    case "ticket":
      return false;
    default:
      if (principal.kind !== "serviceAccount" && audience.includes("user")) return true;
      return principal.kind !== "person" && audience.includes(principal.role);
  }
}
