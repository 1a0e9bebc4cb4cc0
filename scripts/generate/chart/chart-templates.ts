import type { Manifest } from "../../../src/crds/manifest.ts";
import { STAMPING_POLICIES } from "../../../src/crds/manifests/admission/admission.ts";
import { RESTART_POLICY, rolloutRestart } from "../../../src/crds/manifests/admission/grant-account-admission.ts";
import { installation } from "../../../src/crds/manifests/installation.ts";
import { OBSERVE_ROLE, OBSERVED_RESOURCES, READ_ON_DEMAND } from "../../../src/crds/manifests/roles/observe-role.ts";
import { clusterObservation, manifestsOf, nameSalt, targetBinding } from "../../../src/crds/manifests/roles/rbac.ts";
import type { ShippedRole } from "../../../src/crds/manifests/roles/shipped-role.ts";
import { shippedRoles } from "../../../src/crds/manifests/roles/shipped-roles.ts";
import { debugTemplates } from "./chart-debug-templates.ts";
import { machineTemplates } from "./chart-machines-templates.ts";
import { ANY_PLUGIN, anyOf, HEAD, MARKS, object, operationOf, when } from "./chart-objects.ts";
import { pluginRefusal } from "./chart-plugins.ts";
import { releaseTemplates } from "./chart-releases-templates.ts";

/** The chart's templates that are made from `src/crds`: the same objects, with the release's names. */
export function chartTemplates(): ReadonlyMap<string, string> {
  const { crds, policies } = installation(MARKS);
  const roles = shippedRoles(MARKS);
  const at = (...reaches: readonly ShippedRole["reach"][]) => roles.filter(({ reach }) => reaches.includes(reach));
  return new Map([
    [
      "crds.yaml",
      HEAD +
        when(
          ".Values.crds.enabled",
          crds.map((crd) => object(crd, { keep: ".Values.crds.keep" })),
        ),
    ],
    ["admission-policies.yaml", HEAD + policyTemplates(policies)],
    ["_plugin-rules.tpl", pluginRefusal()],
    ["debug-sessions.yaml", HEAD + debugTemplates()],
    ["machines.yaml", HEAD + machineTemplates()],
    ["releases.yaml", HEAD + releaseTemplates()],
    ["account-roles.yaml", HEAD + when(".Values.rbac.create", accountRoles(at("system", "grants", "cluster")))],
    [
      "metrics-auth.yaml",
      HEAD +
        when(
          "and .Values.rbac.create .Values.metrics.auth.enabled",
          at("metrics").flatMap((role) => manifestsOf(role, MARKS).map((each) => object(each))),
        ),
    ],
    [
      "observe-cluster.yaml",
      HEAD + when(`and .Values.rbac.create (${OBSERVES_CLUSTER})`, [object(clusterObservation(MARKS))]),
    ],
    ["redact-names.yaml", HEAD + when(".Values.observe.redactNames", nameSaltTemplates())],
    [
      "observe-nodes.yaml",
      HEAD +
        when(
          "and .Values.rbac.create .Values.observe.nodes",
          at("nodes").flatMap((role) => manifestsOf(role, MARKS).map((each) => object(each))),
        ),
    ],
    ["opened-namespaces.yaml", HEAD + when(".Values.rbac.create", openedNamespaces(at("opened")))],
    ["cluster-operations.yaml", HEAD + clusterOperations(at("cluster-opened"))],
    [
      "people-roles.yaml",
      HEAD +
        when(
          ".Values.people.create",
          at("people").map((role) => placed(role, "peoplePlaces")),
        ),
    ],
  ]);
}

function policyTemplates(policies: readonly Manifest[]): string {
  // A mutating policy stamps names. The validating policy that requires a name is left out together with it.
  const always = policies.filter(({ metadata }) => !STAMPING_POLICIES.includes(metadata.name));
  const stampers = policies.filter(({ metadata }) => STAMPING_POLICIES.includes(metadata.name));
  const stamps = when(
    'eq .Values.admission.mode "validating-and-mutating"',
    stampers.map((each) => object(each)),
  );
  return when('ne .Values.admission.mode "external"', [...always.map(policyTemplate), stamps]);
}

/** For the text of the policy that says more for plugins; what they are does not matter. */
const ANY = { plugin: "any", name: "any", tier: "destructive", rules: [] } as const;

/** Two of them know the plugins of the values. */
function policyTemplate(policy: Manifest): string {
  const text = object(policy);
  const { kind, metadata } = policy;
  if (kind !== "ValidatingAdmissionPolicy") return text;
  if (metadata.name === "sallyport-lending") {
    const last = /('sallyport-op-[^']+':\s+'[a-z-]+')\}/;
    if (!last.test(text)) throw new Error("the policy of lending has no map of tiers");
    return text.replace(last, '$1{{ include "sallyport.pluginTiers" $ }}}');
  }
  if (metadata.name !== RESTART_POLICY) return text;
  const [withPlugins] = rolloutRestart({ ...MARKS, plugins: [ANY] });
  if (withPlugins === undefined) throw new Error(`there is no policy ${RESTART_POLICY}`);
  return when(ANY_PLUGIN, [object(withPlugins)]) + when(`not ${ANY_PLUGIN}`, [text]);
}

function accountRoles(roles: readonly ShippedRole[]): readonly string[] {
  return roles.map((role) => {
    const parts = manifestsOf(role, MARKS).map((each) => object(each));
    return role.reach === "cluster" ? when(".Values.rbac.selfCheck", parts) : parts.join("");
  });
}

/** The Secret is there without the roles too, for who makes those by hand. */
function nameSaltTemplates(): readonly string[] {
  const [secret, ...access] = nameSalt(MARKS).map((each) => object(each));
  return [secret ?? "", when(".Values.rbac.create", access)];
}

function openedNamespaces(roles: readonly ShippedRole[]): readonly string[] {
  const binding = (name: string, account: string): string => {
    const text = object(targetBinding(name, account, "mark-namespace", MARKS));
    return text.replaceAll("mark-namespace", "{{ $namespace | quote }}");
  };
  const perNamespace = [
    binding("sallyport-operator-target", MARKS.operatorAccount),
    when(`not (${OBSERVES_CLUSTER})`, [binding(OBSERVE_ROLE, MARKS.agentAccount)]),
  ];
  const forApprovers = lentByApprovers().filter(
    ({ name, reach }) => reach === "opened" && roles.every((role) => role.name !== name),
  );
  return [
    ...roles.map((role) => {
      const operation = role.holder === "grant account" ? operationOf(role.name) : undefined;
      const template = role.name === OBSERVE_ROLE ? observing(role) : inItsMode(role);
      return operation === undefined ? template : when(operation, [template]);
    }),
    ...forApprovers.map((role) => when(APPROVERS_LEND, [placed(role, "openedPlaces")])),
    `{{- range $namespace := include "sallyport.opened" $ | fromJsonArray }}\n${perNamespace.join("")}{{- end }}\n`,
  ];
}

const OBSERVES_CLUSTER = 'eq $.Values.observe.scope "cluster"';

/** The value that a rule of the role depends on, in the order of the rules. */
const OBSERVE_SWITCHES: readonly string[] = [
  ...OBSERVED_RESOURCES.map(({ value }) => `$.Values.observe.kinds.${value}`),
  ...READ_ON_DEMAND.map(({ value }) => `$.Values.observe.${value}`),
];

/** Each of its rules can be removed with what it is for. */
function observing(role: ShippedRole): string {
  const [head = "", ...rules] = inItsMode(role).split(/^(?= {2}- apiGroups:)/m);
  const end = "{{- end }}\n";
  const last = rules.at(-1) ?? "";
  if (!last.endsWith(end) || rules.length !== OBSERVE_SWITCHES.length) throw new Error(`${role.name} has other rules`);
  const own = rules.map((text, index) => {
    const body = index === rules.length - 1 ? text.slice(0, -end.length) : text;
    return when(OBSERVE_SWITCHES[index] ?? "true", [body]);
  });
  return `${head}${own.join("")}${end}`;
}

/** Roles of cluster scope and the right to lend them: left out while all their operations are off. */
function clusterOperations(roles: readonly ShippedRole[]): string {
  const whole = (role: ShippedRole): string =>
    manifestsOf(role, MARKS)
      .map((each) => object(each))
      .join("");
  const operations = roles.filter(({ holder }) => holder === "grant account");
  const lending = roles.filter(({ holder }) => holder !== "grant account").map(whole);
  const byApprovers = lentByApprovers().filter(
    ({ holder, reach }) => reach === "cluster-opened" && holder !== "grant account",
  );
  const isAnyOn = anyOf(operations.map(({ name }) => name));
  return when(`and .Values.rbac.create (eq .Values.rbac.scope "cluster") (${isAnyOn})`, [
    ...operations.map((role) => when(operationOf(role.name) ?? "false", [narrowed(role.name, whole(role))])),
    `{{- if ${APPROVERS_LEND} }}\n${byApprovers.map(whole).join("")}{{- else }}\n${lending.join("")}{{- end }}\n`,
  ]);
}

/** The role of an operation on objects without a namespace. Names in the values limit its rules to those objects. */
function narrowed(role: string, body: string): string {
  const names = operationOf(role)?.replace('"enabled"', '"names"');
  const only = `{{- with ${names} }}\n    resourceNames:\n      {{- toYaml . | nindent 6 }}\n{{- end }}\n`;
  return body.replaceAll(/^ {4}verbs:\n(?: {6}- .*\n)+/gm, (verbs) => verbs + only);
}

const APPROVERS_LEND = 'eq .Values.lending.mode "approver"';

/** The role for the mode in which the operator lends; where approvers lend, another role or none. */
function inItsMode(role: ShippedRole): string {
  const other = lentByApprovers().find(({ name, holder }) => name === role.name && holder === role.holder);
  const template = placed(role, "openedPlaces");
  if (other === undefined) throw new Error(`${role.name} is not there where approvers lend`);
  const theirs = placed(other, "openedPlaces");
  if (theirs === template) return template;
  return `{{- if ${APPROVERS_LEND} }}\n${theirs}{{- else }}\n${template}{{- end }}\n`;
}

function lentByApprovers(): readonly ShippedRole[] {
  return shippedRoles({ ...MARKS, lendingMode: "approver" });
}

/** A role that is one ClusterRole, or one Role in each of several namespaces. */
function placed(role: ShippedRole, places: string): string {
  const [manifest] = manifestsOf(role, MARKS);
  if (manifest === undefined) throw new Error(`${role.name} is no manifest`);
  const { labels = {} } = manifest.metadata;
  const aggregates = "rbac.authorization.k8s.io/aggregate-to-view" in labels;
  const kind = '{{ ternary "Role" "ClusterRole" (ne $namespace "") }}';
  const body = object(
    { ...manifest, kind: "mark-kind", metadata: { ...manifest.metadata, namespace: "mark-namespace" } },
    aggregates ? { aggregates } : {},
  );
  return `{{- range $namespace := include "sallyport.${places}" $ | fromJsonArray }}\n${body
    .replace("kind: mark-kind", `kind: ${kind}`)
    .replace(
      "  namespace: mark-namespace\n",
      "  {{- with $namespace }}\n  namespace: {{ . | quote }}\n  {{- end }}\n",
    )}{{- end }}\n`;
}
