import type { Static } from "typebox";
import type { deploymentPortalRoutes } from "../../../contract/deployment-portal/deployment-portal.ts";
import type { Stack } from "../../../contract/deployments/stack.ts";
import type { Call, Handlers } from "../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { impliedProject } from "../../kernel/tenancy/principal.ts";
import { withoutNulls } from "../../kernel/without-nulls.ts";
import { setupOfToken } from "../deployments/create/group-setup.ts";
import { checkPolicy } from "../deployments/settings/policy.ts";
import { fits, methodsFor } from "../deployments/settings/setup-methods.ts";
import { fingerprintOf, sha256OfJson } from "../releases/record/fingerprint.ts";
import { computePlan } from "./compute-plan.ts";
import { deploymentInfo } from "./info.ts";
import { MACHINES } from "./machines.ts";
import { releaseOf } from "./subject.ts";

type Body = Static<(typeof deploymentPortalRoutes)["computePlan"]["body"]>;
type Context = Pick<Call, "db" | "principal" | "config" | "workspaceId"> & { readonly body: Body };

export const handlers: Handlers<typeof deploymentPortalRoutes> = {
  info: (call) => deploymentInfo(call, call.query),

  async computePlan(call) {
    const { stack, settings } = await prepare(call);
    return { pools: computePlan(stack, settings, MACHINES[call.body.platform]) };
  },

  async prepareStack(call) {
    const { stack, settings } = await prepare(call);
    const { platform } = call.body;
    const setup = fingerprintOf(platform, stack);
    // The settings change what is set up, so they are part of the fingerprint. Without settings it is the release's
    // own.
    const fingerprint =
      Object.keys(settings).length === 0 ? setup.fingerprint : sha256OfJson([setup.fingerprint, settings]);
    return { platform, stack, setup: { ...setup, fingerprint } };
  },
};

/** The stack that the token would set up, and the settings: the customer's choice over the vendor's defaults. */
async function prepare(call: Context): Promise<{ stack: Stack; settings: Body["stackSettings"] }> {
  const { platform, setupMethod, stackSettings } = call.body;
  const { policy, captured } = await setupOfToken(call);
  const settings = { ...policy.stackSettings?.defaults, ...withoutNulls(stackSettings) };
  checkPolicy(policy, { platform, setupMethod, pinned: false, stackSettings: settings });
  if (!fits(setupMethod, platform)) {
    throw new PlatformError("SETUP_METHOD_NOT_ALLOWED", { context: { allowed: methodsFor(platform) } });
  }
  const release = await releaseOf(call, impliedProject(call.principal) ?? "", { captured }, call.body.setupItem);
  if (release === undefined) throw notFound("release");
  const stack = release.stack[platform];
  if (stack == null) throw notFound("stack for the platform");
  // The stack was checked when the release was created.
  return { stack: stack as unknown as Stack, settings };
}
