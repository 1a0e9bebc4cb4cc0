import { RELEASE_ROLE } from "../../../src/crds/group.ts";
import type { Manifest } from "../../../src/crds/manifest.ts";
import { RELEASE_STAMPING_POLICIES } from "../../../src/crds/manifests/admission/release-admission.ts";
import { RELEASE_SECRET_POLICIES } from "../../../src/crds/manifests/admission/release-objects/secret-admission.ts";
import { openNamespaceToReleases, openReleases } from "../../../src/crds/manifests/installation.ts";
import { releaseSecretRbac, releaseSecretRoles } from "../../../src/crds/manifests/roles/release-secret-roles.ts";
import { type MayUse, USED_LISTS } from "../../../src/crds/released/may-use.ts";
import { groupOf, RELEASE_RESOURCES } from "../../../src/crds/released/release-kinds.ts";
import { MARKS, object, when } from "./chart-objects.ts";

/** Placeholders for the customer's values in the text of a policy. */
const VALUES = {
  kinds: "mark-release-kinds",
  registries: "mark-release-registries",
  mayExpose: "mark-release-exposure",
  secrets: "mark-release-secrets-read",
  configMaps: "mark-release-config-maps-read",
  volumeClaims: "mark-release-volume-claims-read",
  podSecurity: "mark-release-pod-security",
  bringsSecrets: "mark-release-values",
  maxPods: "mark-release-most-pods",
} as const;
const useMark = (list: string): string => `mark-release-use-of-${list.toLowerCase()}`;
/** A list of CEL in single quotes, which a YAML string of either style takes as they are. */
const joined = (value: string): string => `{{ join "', '" $.Values.releases.${value} }}`;
const EXPRESSIONS: ReadonlyMap<string, string> = new Map([
  [VALUES.kinds, joined("kinds")],
  [VALUES.registries, joined("registries")],
  [VALUES.mayExpose, "{{ $.Values.releases.mayExpose }}"],
  [VALUES.secrets, joined("mayRead.secrets")],
  [VALUES.configMaps, joined("mayRead.configMaps")],
  [VALUES.volumeClaims, joined("mayRead.volumeClaims")],
  [VALUES.podSecurity, "{{ $.Values.releases.podSecurity }}"],
  [VALUES.bringsSecrets, "{{ $.Values.releases.secrets }}"],
  [VALUES.maxPods, "{{ int64 $.Values.releases.maxPods }}"],
  ...USED_LISTS.map((list) => [useMark(list), joined(`mayUse.${list}`)] as const),
]);

const BRINGS_SECRETS = "$.Values.releases.secrets";
const OF_SECRETS = releaseSecretRoles(MARKS);

/** What releases add: roles and their bindings, and the admission policies. */
export function releaseTemplates(): string {
  const roles = openReleases(MARKS, { secrets: true }).filter(({ apiVersion }) =>
    apiVersion.startsWith("rbac.authorization.k8s.io/"),
  );
  const options = {
    ...{ kinds: [VALUES.kinds], registries: [VALUES.registries], mayExpose: VALUES.mayExpose },
    mayRead: {
      ...{ secrets: [VALUES.secrets], configMaps: [VALUES.configMaps], volumeClaims: [VALUES.volumeClaims] },
    },
    mayUse: Object.fromEntries(USED_LISTS.map((list) => [list, [useMark(list)]])) as unknown as MayUse,
    maxPods: VALUES.maxPods,
    podSecurity: VALUES.podSecurity,
    secrets: VALUES.bringsSecrets,
  };
  const policies = openReleases(MARKS, options).filter(({ apiVersion }) =>
    apiVersion.startsWith("admissionregistration.k8s.io/"),
  );
  const isStamper = ({ metadata }: Manifest): boolean => RELEASE_STAMPING_POLICIES.includes(metadata.name);
  const [salt = ""] = releaseSecretRbac(MARKS)
    .filter(({ kind }) => kind === "Secret")
    .map((each) => object(each));
  return when(".Values.releases.enabled", [
    when(BRINGS_SECRETS, [salt]),
    when(".Values.rbac.create", [...roles.map(roleTemplate), openedNamespaces()]),
    when('ne .Values.admission.mode "external"', [
      ...policies.filter((each) => !isStamper(each)).map(policyTemplate),
      when(
        'eq .Values.admission.mode "validating-and-mutating"',
        policies.filter(isStamper).map((each) => object(each)),
      ),
    ]),
  ]);
}

function policyTemplate(policy: Manifest): string {
  const text = [...EXPRESSIONS].reduce((all, [mark, expression]) => all.replaceAll(mark, expression), object(policy));
  const isOfSecrets = RELEASE_SECRET_POLICIES.some((name) => name === policy.metadata.name);
  return isOfSecrets ? when(BRINGS_SECRETS, [text]) : text;
}

/** A kind that releases may not install has no rule; without the look at the policies the operator has no right to it. */
function roleTemplate(role: Manifest): string {
  const text = object(role);
  if (role.metadata.name.endsWith("-self-check")) return when(".Values.rbac.selfCheck", [text]);
  if (OF_SECRETS.some(({ name }) => name === role.metadata.name)) return when(BRINGS_SECRETS, [text]);
  if (!/^sallyport-op-|-release-members$/.test(role.metadata.name)) return text;
  const [head = "", ...rules] = text.split(/^(?= {2}- apiGroups:)/m);
  const kinds = Object.entries(RELEASE_RESOURCES);
  const own = rules.map((rule, index) => {
    const [kind, resource] = kinds[index] ?? [];
    if (rule.includes("- secrets\n")) return when(BRINGS_SECRETS, [rule]);
    if (kind === undefined || resource === undefined) return rule;
    if (!rule.includes(`- ${resource}\n`) || !rule.includes(groupOf(kind))) throw new Error(`${kind} has another rule`);
    return when(`has ${JSON.stringify(kind)} $.Values.releases.kinds`, [rule]);
  });
  const whole = head + own.join("");
  // The chart makes no role of the customer's own.
  return role.metadata.name === RELEASE_ROLE ? when(`eq $.Values.releases.role "${RELEASE_ROLE}"`, [whole]) : whole;
}

function openedNamespaces(): string {
  const bindings = openNamespaceToReleases("mark-namespace", MARKS)
    .map((each) => object(each))
    .join("")
    .replaceAll("mark-namespace", "{{ $namespace | quote }}");
  return `{{- range $namespace := include "sallyport.opened" $ | fromJsonArray }}\n${bindings}{{- end }}\n`;
}
