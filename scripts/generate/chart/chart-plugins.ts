import { CLOSED, CLOSED_GROUPS, Rule, STARTS_PODS, SUBRESOURCES } from "../../../src/plugins/rules.ts";
import { MAX_OPERATIONS, Name, RESERVED_NAMES, SCOPES, TIERS, Version } from "../../../src/plugins/words.ts";
import { leaf } from "./chart-value.ts";

const OPERATION = {
  type: "object",
  required: ["enabled", "tier", "scope", "rules"],
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean" },
    tier: { type: "string", enum: TIERS },
    scope: { type: "string", enum: SCOPES },
    rules: { type: "array", minItems: 1, maxItems: 16, items: Rule },
  },
};

/** Operations of the vendor's own, in code that lies in the image. */
export const PLUGIN_VALUES = leaf(
  {},
  {
    type: "object",
    maxProperties: 32,
    propertyNames: Name,
    additionalProperties: {
      type: "object",
      required: ["version", "operations"],
      additionalProperties: false,
      properties: {
        version: Version,
        operations: {
          type: "object",
          maxProperties: MAX_OPERATIONS,
          propertyNames: Name,
          additionalProperties: OPERATION,
        },
      },
    },
  },
  "Operations of plugins that the vendor wrote and that lie in `image`, as `{search: {version: 1.2.0, operations: {reindex: {enabled: true, tier: mutating, scope: namespaced, rules: [{apiGroups: [apps], resources: [deployments], verbs: [get, patch]}]}}}}`. The vendor's platform prints them. Each that is on gets a role of these rules and no others, and runs under your approval and your policies like an operation of Sallyport's own (docs/permissions.md). With any of them on, the operator needs 416Mi of memory.",
);

/**
 * Templates from the same tables as the command line, the platform and the operator. The first says why a rule of a plugin's
 * operation is refused: `(dict "group" … "resource" … "verb" … "tier" …)`. Empty: it is not.
 */
export function closedToPlugins(): string {
  const groups = JSON.stringify(Object.fromEntries(CLOSED_GROUPS));
  const closed = JSON.stringify(CLOSED);
  const parts = JSON.stringify(SUBRESOURCES);
  return `{{/* Made by \`npm run generate\` from src/plugins/rules.ts. Do not edit. */}}
{{- define "sallyport.closedToPlugins" -}}
{{- $groups := ${quoted(groups)} | fromJson -}}
{{- $closed := ${quoted(closed)} | fromJson -}}
{{- $parts := ${quoted(parts)} | fromJson -}}
{{- $names := splitn "/" 2 .resource -}}
{{- $changes := has .verb (list "create" "patch" "delete") -}}
{{- $entry := get $closed (printf "%s/%s" .group $names._0) | default (list "" "") -}}
{{- $first := index $entry 0 -}}
{{- if hasKey $groups .group -}}
it {{ get $groups .group }}
{{- else if or (eq $first "all") (and (eq $first "*") $changes) (and (eq $first "create") (eq .verb "create")) -}}
it {{ index $entry 1 }}
{{- else if $names._1 -}}
{{- if or (not (hasKey $parts $names._1)) (ne (eq $names._1 "log") (and (eq $names._0 "pods") (empty .group))) -}}
an operation of a plugin reaches pods/log, and scale and status of other kinds
{{- else if not (has .verb (get $parts $names._1)) -}}
it has only the verbs {{ get $parts $names._1 | join " and " }} for a plugin
{{- else if and $changes (eq .tier "read-only") -}}
the operation's tier is read-only
{{- end -}}
{{- else if and (empty .group) (eq $names._0 "pods") (has .verb (list "create" "patch")) -}}
it ${STARTS_PODS}
{{- else if and $changes (eq .tier "read-only") -}}
the operation's tier is read-only
{{- end -}}
{{- end -}}
{{/* Words with which no plugin's name begins, as JSON. */}}
{{- define "sallyport.reservedNames" -}}
${JSON.stringify(RESERVED_NAMES)}
{{- end -}}
`;
}

/** As a raw string of a template. */
function quoted(json: string): string {
  if (json.includes("`")) throw new Error("a raw string of a template has no backtick");
  return `\`${json}\``;
}
