import { stringify } from "yaml";
import type { InstallationNames } from "../../../src/crds/group.ts";
import { DEBUG_NAMESPACE, operationRole } from "../../../src/crds/group.ts";
import type { Manifest } from "../../../src/crds/manifest.ts";
import { OPERATIONS } from "../../../src/crds/operations/catalog.ts";
import { DEBUG_MODES } from "../../../src/crds/operations/debug.ts";

/**
 * Placeholders for what an installation names itself. They occur nowhere else; the templates have the release's names
 * there.
 */
export const MARKS: Required<Omit<InstallationNames, "plugins">> = {
  systemNamespace: "mark-system-namespace",
  grantsNamespace: "mark-grants-namespace",
  agentAccount: "mark-agent-account",
  operatorAccount: "mark-operator-account",
  roleKind: "mark-role-kind",
  lendingMode: "mark-lending-mode",
  debugNamespace: DEBUG_NAMESPACE,
  releasesNamespace: "mark-releases-namespace",
  releaseRole: "mark-releases-role",
  tunnelAccount: "mark-tunnel-account",
  joinAccount: "mark-join-account",
  machinesAccount: "mark-machines-account",
};

const EXPRESSIONS: Readonly<Record<keyof typeof MARKS, string>> = {
  systemNamespace: '{{ include "sallyport.namespace" $ }}',
  grantsNamespace: "{{ $.Values.grantsNamespace }}",
  agentAccount: '{{ include "sallyport.account" (dict "root" $ "component" "agent") }}',
  operatorAccount: '{{ include "sallyport.account" (dict "root" $ "component" "operator") }}',
  lendingMode: "{{ $.Values.lending.mode }}",
  roleKind: '{{ include "sallyport.roleKind" $ }}',
  debugNamespace: DEBUG_NAMESPACE,
  releasesNamespace: "{{ $.Values.releases.namespace }}",
  releaseRole: "{{ $.Values.releases.role }}",
  tunnelAccount: '{{ include "sallyport.account" (dict "root" $ "component" "tunnel") }}',
  joinAccount: '{{ include "sallyport.account" (dict "root" $ "component" "join") }}',
  machinesAccount: '{{ include "sallyport.account" (dict "root" $ "component" "machines") }}',
};

export const HEAD = "{{/* Made by `npm run generate` from src/crds. Do not edit. */}}\n";

export function when(condition: string, parts: readonly string[]): string {
  return `{{- if ${condition} }}\n${parts.join("")}{{- end }}\n`;
}

export function object(
  manifest: Manifest,
  options: { readonly keep?: string; readonly aggregates?: true } = {},
): string {
  const { apiVersion, kind, metadata, ...rest } = manifest;
  const { name, namespace, labels } = metadata;
  const ours = Object.entries(labels ?? {}).map(([key, value]) => `"${key}" "${value}"`);
  const own = options.aggregates
    ? `(ternary (dict ${ours.join(" ")}) dict (and $.Values.people.aggregateToView (eq $.Values.rbac.scope "cluster")))`
    : `(dict ${ours.join(" ")})`;
  const keep = options.keep
    ? ` "annotations" (include "sallyport.keptAnnotations" (dict "root" $ "keep" ${options.keep}) | fromYaml)`
    : "";
  const head = [
    "---",
    `apiVersion: ${apiVersion}`,
    `kind: ${kind}`,
    "metadata:",
    `  name: ${name}`,
    ...(namespace === undefined ? [] : [`  namespace: ${namespace}`]),
    `  {{- include "sallyport.meta" (dict "root" $ "component" "access" "labels" ${own}${keep}) | nindent 2 }}`,
  ].join("\n");
  const body = stringify(rest, { lineWidth: 120, aliasDuplicateObjects: false });
  if (body.includes("{{")) throw new Error(`${kind} ${name} holds what a template would take for its own`);
  return withExpressions(`${head}\n${switchable(body)}`);
}

/**
 * An operation that is off is removed from the list of roles that may be lent. With none left the rule goes too: a rule
 * without names would allow all.
 */
function switchable(body: string): string {
  const listed = body.replaceAll(/^ +- (sallyport-op-\S+)\n/gm, (line, role: string) =>
    when(operationOf(role) ?? "true", [line]),
  );
  if (listed === body) return body;
  const start = listed.lastIndexOf("  - apiGroups:", listed.indexOf("{{- if"));
  const rule = listed
    .slice(start)
    .replace("- roles\n", '- {{ ternary "clusterroles" "roles" (eq $.Values.rbac.scope "cluster") }}\n');
  const roles = [...body.matchAll(/^ +- (sallyport-op-\S+)$/gm)].map(([, role = ""]) => role);
  const { namespaced, more } = PLUGIN_ROLES;
  if (!roles.includes(namespaced)) return listed.slice(0, start) + when(anyOf(roles), [rule]);
  return listed.slice(0, start) + when(`${anyOf(roles)} ${ANY_PLUGIN}`, [rule + more]);
}

/** Roles of plugins can be lent where those of namespaced operations can. Their names are in the values alone. */
const PLUGIN_ROLES = {
  namespaced: operationRole("kubernetes", "get-pods"),
  more: '{{- range include "sallyport.pluginRoles" $ | fromJsonArray }}\n      - {{ . }}\n{{- end }}\n',
};
export const ANY_PLUGIN = '(include "sallyport.pluginRoles" $ | fromJsonArray)';

export function anyOf(roles: readonly string[]): string {
  return `or ${roles.flatMap((role) => operationOf(role) ?? []).join(" ")}`;
}

export function operationOf(role: string): string | undefined {
  const mode = DEBUG_MODES.find((each) => role === operationRole("debug", each));
  if (mode !== undefined) return `(index $.Values.debugSessions.modes "${mode}")`;
  const found = OPERATIONS.find(({ plugin, name }) => role === operationRole(plugin, name));
  return found && `(index $.Values.operations "${found.plugin}" "${found.name}" "enabled")`;
}

const MARK =
  "mark-(?:system|grants|releases|agent|operator|tunnel|join|machines)-\\w+|mark-role-kind|mark-lending-mode";
const BARE_MARK = new RegExp(`^( *(?:- )?(?:\\w+: )?)(${MARK})$`, "gm");

/** A name that stands alone is quoted: a namespace may be called 12345, a release true. */
function withExpressions(text: string): string {
  return text
    .replaceAll("-mark-role-kind", '{{ include "sallyport.bindingSuffix" $ }}')
    .replaceAll(
      BARE_MARK,
      (_line, before: string, mark: string) => before + expressionOf(mark).replace(" }}", " | quote }}"),
    )
    .replaceAll(new RegExp(MARK, "g"), expressionOf);
}

function expressionOf(mark: string): string {
  const entry = Object.entries(MARKS).find(([, value]) => value === mark);
  if (entry === undefined) throw new Error(`unknown mark ${mark}`);
  return EXPRESSIONS[entry[0] as keyof typeof MARKS];
}
