import { BUILTIN_PLUGINS } from "../../../contract/operations/builtin-plugins.ts";
import type { Db } from "../../database/db.ts";
import type { Budgets } from "../../kernel/budgets/budgets.ts";
import type { Call } from "../../kernel/call/call.ts";
import { inTransaction } from "../../kernel/call/transaction.ts";
import { invalid, notFound, PlatformError } from "../../kernel/errors.ts";
import { type Registration, readMetadata } from "./bundles/bundle.ts";
import { BUNDLE_CONTENT_TYPE, type BundleStorage } from "./bundles/bundle-storage.ts";
import { isBuiltin, isSwitchableBuiltin } from "./catalogue.ts";
import { customPlugins, putCustom, switchBuiltins, switchCustom } from "./store.ts";

/**
 * Registers the custom plugin whose archive was uploaded, or replaces the one of that name. The archive is read outside
 * of any transaction, because that may take seconds.
 * @throws PLUGIN_METADATA_INVALID, NAME_TAKEN for a built-in's name, BUNDLE_NOT_UPLOADED, VALIDATION_ERROR
 */
export async function registerPlugin(
  call: Pick<Call, "db" | "now" | "signal" | "budgets" | "hooks" | "wake" | "config">,
  storage: BundleStorage,
  projectId: string,
  { metadata, ...plugin }: Registration & { readonly metadata?: Readonly<Record<string, unknown>> | undefined },
): Promise<{ readonly enabled: boolean }> {
  const { db, now, signal, budgets } = call;
  // Check the body's metadata first: it needs no archive.
  if (metadata !== undefined) readMetadata(metadata, plugin);
  refuseBuiltin(plugin.name);
  const uploaded = await storage.keep(projectId, plugin.name, signal);
  if (uploaded === undefined) throw new PlatformError("BUNDLE_NOT_UPLOADED");
  const verbatim = metadata ?? uploaded.metadata;
  const operations = readMetadata(verbatim, plugin, uploaded.files);
  const { stored: bundle } = uploaded;
  const row = { ...plugin, project_id: projectId, operations, metadata: verbatim, bundle, registered_at: now };
  return inTransaction(db, { readOnly: false, signal, onRetry: () => undefined }, async (transaction) => {
    await refuseOneTooMany(transaction, budgets, projectId, plugin.name);
    const put = await putCustom(transaction, row);
    await tellChanged({ ...call, db: transaction }, projectId);
    return put;
  });
}

export async function uploadUrl(
  storage: BundleStorage,
  projectId: string,
  name: string,
  now: Date,
): Promise<{ uploadUrl: string; contentType: string }> {
  refuseBuiltin(name);
  return { uploadUrl: await storage.uploadUrl(projectId, name, now), contentType: BUNDLE_CONTENT_TYPE };
}

function refuseBuiltin(name: string): void {
  if (isBuiltin(name)) throw new PlatformError("NAME_TAKEN", { message: `${name} is the name of a built-in plugin` });
}

async function refuseOneTooMany(db: Db, budgets: Budgets, projectId: string, name: string): Promise<void> {
  const others = (await customPlugins(db, projectId)).filter((plugin) => plugin.name !== name);
  budgets.require("project-plugins", projectId, others.length + 1);
}

/**
 * Enables exactly these built-in plugins, and those that are always enabled, named or not.
 * @throws UNKNOWN_PLUGIN for names that are not built in
 */
export async function enableExactly(db: Db, projectId: string, names: readonly string[]): Promise<string[]> {
  const unknown = names.filter((name) => !isBuiltin(name));
  if (unknown.length > 0) throw new PlatformError("UNKNOWN_PLUGIN", { context: { names: unknown } });
  const switchable = BUILTIN_PLUGINS.map(({ name }) => name).filter(isSwitchableBuiltin);
  await switchBuiltins(
    db,
    switchable.map((name) => ({ project_id: projectId, name, enabled: names.includes(name) })),
  );
  return [...names].sort();
}

/** @throws VALIDATION_ERROR when what is always enabled is to be switched off */
export async function enablePlugin(
  call: Pick<Call, "db" | "now" | "hooks" | "wake" | "config">,
  projectId: string,
  name: string,
  enabled: boolean,
): Promise<{ name: string; builtin: boolean; enabled: boolean }> {
  const { db } = call;
  const row = { project_id: projectId, name, enabled };
  const builtin = isSwitchableBuiltin(name);
  if (isBuiltin(name) && !builtin) {
    if (enabled) return { name, builtin: true, enabled };
    throw invalid({ path: "body.enabled", message: `must be true: ${name} is always enabled` });
  }
  if (builtin) await switchBuiltins(db, [row]);
  else if (!(await switchCustom(db, row))) throw notFound("plugin");
  else await tellChanged(call, projectId);
  return { name, builtin, enabled };
}

async function tellChanged(
  call: Pick<Call, "db" | "now" | "hooks" | "wake" | "config">,
  projectId: string,
): Promise<void> {
  for (const hook of call.hooks.pluginsChanged) await hook(call, projectId);
}
