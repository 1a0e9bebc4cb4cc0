import type { Manifest } from "../../../src/crds/manifest.ts";
import { bound, GRANTS, SHOP } from "../../world/people.ts";

/** Lets `user` lend in the shop. */
export function lender(user: string): Manifest {
  return bound(`lender-${user}`, SHOP, "sallyport-lender", user);
}

/** Lets `user` write policies, and so lend to what runs by itself. */
export function policyAdmin(user: string): Manifest {
  return bound(`policy-admin-${user}`, GRANTS, "sallyport-policy-admin", user);
}
