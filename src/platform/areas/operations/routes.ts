import type { operationRoutes } from "../../../contract/operations/operations.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { bundleStorage } from "./bundles/bundle-storage.ts";
import { catalogueOf, toPlugins, unknownOperation, unknownPatterns } from "./catalogue.ts";
import { invoke } from "./invoke.ts";
import { enableExactly, enablePlugin, registerPlugin, uploadUrl } from "./plugins.ts";
import { DEFAULT_DECISION, duplicatePatterns } from "./policy.ts";
import { policyRules, putPolicyRules } from "./store.ts";
import { requireOperationsProject } from "./target.ts";

export const handlers: Handlers<typeof operationRoutes> = {
  async listPlugins({ db, principal, query }) {
    const project = await requireOperationsProject(db, principal, query.project);
    return { plugins: toPlugins(await catalogueOf(db, project.id)) };
  },

  async registerPlugin(call) {
    const { db, principal, query, body, config } = call;
    const project = await requireOperationsProject(db, principal, query.project);
    const { enabled } = await registerPlugin(call, bundleStorage(config.objects), project.id, body);
    return { name: body.name, version: body.version, tier: body.tier, enabled };
  },

  async enableBuiltins({ db, principal, query, body }) {
    const project = await requireOperationsProject(db, principal, query.project);
    return { names: await enableExactly(db, project.id, body.names) };
  },

  async uploadUrl({ db, principal, query, body, now, config }) {
    const project = await requireOperationsProject(db, principal, query.project);
    return uploadUrl(bundleStorage(config.objects), project.id, body.name, now);
  },

  async enablePlugin(call) {
    const { db, principal, query, params, body } = call;
    const project = await requireOperationsProject(db, principal, query.project);
    return enablePlugin(call, project.id, params.name, body.enabled);
  },

  async getPolicy({ db, principal, query }) {
    const project = await requireOperationsProject(db, principal, query.project);
    return { rules: await policyRules(db, project.id), default: DEFAULT_DECISION };
  },

  async putPolicy({ db, principal, query, body, now }) {
    const project = await requireOperationsProject(db, principal, query.project);
    const patterns = duplicatePatterns(body.rules);
    if (patterns.length > 0) throw new PlatformError("DUPLICATE_PATTERN", { context: { patterns } });
    const given = body.rules.map(({ pattern }) => pattern);
    const names = unknownPatterns(await catalogueOf(db, project.id), given);
    if (names.length > 0) throw unknownOperation(names);
    await putPolicyRules(db, project.id, body.rules, now);
    return { rules: body.rules, default: DEFAULT_DECISION };
  },

  invoke,
};
