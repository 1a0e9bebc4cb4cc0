import type { packageBuilderRoutes } from "../../../contract/packages/package-builder.ts";
import type { Package, packageRoutes } from "../../../contract/packages/packages.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import type { Call, Handlers } from "../../kernel/call/call.ts";
import { complete, lease, progress } from "./build.ts";
import { cancelPackage, getPackage, listPackages, rebuildProject } from "./service.ts";
import { toPackage } from "./store.ts";

export const handlers: Handlers<typeof packageRoutes> = {
  list: listPackages,
  get: async (call) => shown(call, await getPackage(call, call.params.id)),
  rebuild: (call) => rebuildProject(call, call.body.project),
  cancel: async (call) => shown(call, await cancelPackage(call, call.params.id)),
};

export const builderHandlers: Handlers<typeof packageBuilderRoutes> = {
  lease: async (call) => ({ packages: (await lease(call, call.body)).map((row) => shown(call, row)) }),
  async progress(call) {
    const { lease_expires_at } = await progress(call, call.params.id, call.body);
    return { leaseExpiresAt: (lease_expires_at ?? call.now).toISOString() };
  },
  complete: async (call) => shown(call, await complete(call, call.params.id, call.body)),
};

function shown({ principal, now }: Pick<Call, "principal" | "now">, row: PackageRow): Package {
  return toPackage(row, principal, now);
}
