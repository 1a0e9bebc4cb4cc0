import type { Manifest } from "../../../src/crds/manifest.ts";
import { openDebugSessions, openNamespaceToDebug } from "../../../src/crds/manifests/installation.ts";
import { MARKS, object, operationOf, when } from "./chart-objects.ts";

/** What debug sessions add: roles and their bindings, the modes that are on, and the admission policies. */
export function debugTemplates(): string {
  const all = openDebugSessions(MARKS);
  const roles = all.filter(({ apiVersion }) => apiVersion.startsWith("rbac.authorization.k8s.io/"));
  const policies = all.filter(({ apiVersion }) => apiVersion.startsWith("admissionregistration.k8s.io/"));
  const isStamper = ({ kind }: Manifest): boolean => kind.startsWith("Mutating");
  const parts = [
    when(".Values.rbac.create", [...roles.map(roleTemplate), openedNamespaces()]),
    when('ne .Values.admission.mode "external"', [
      ...policies.filter((each) => !isStamper(each)).map((each) => object(each)),
      when(
        'eq .Values.admission.mode "validating-and-mutating"',
        policies.filter(isStamper).map((each) => object(each)),
      ),
    ]),
  ];
  return when(".Values.debugSessions.enabled", parts);
}

/** A mode that is off has no role; without the look at the policies the operator has no right to it. */
function roleTemplate(role: Manifest): string {
  const { name } = role.metadata;
  const text = object(role);
  if (name.endsWith("-self-check")) return when(".Values.rbac.selfCheck", [text]);
  const condition = operationOf(name);
  return condition === undefined ? text : when(condition, [text]);
}

function openedNamespaces(): string {
  const bindings = openNamespaceToDebug("mark-namespace", MARKS)
    .map((each) => object(each))
    .join("")
    .replaceAll("mark-namespace", "{{ $namespace | quote }}");
  return `{{- range $namespace := include "sallyport.opened" $ | fromJsonArray }}\n${bindings}{{- end }}\n`;
}
