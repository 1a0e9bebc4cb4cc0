import type { Manifest } from "../../../src/crds/manifest.ts";
import { openMachines } from "../../../src/crds/manifests/installation.ts";
import { MARKS, object, when } from "./chart-objects.ts";

/** What machines add: roles and their bindings, the Secret of the join server's key, and the admission policies. */
export function machineTemplates(): string {
  const all = openMachines(MARKS, { allowForce: true, signServing: true });
  const roles = all.filter(({ apiVersion }) => apiVersion.startsWith("rbac.authorization.k8s.io/"));
  const policies = all.filter(isPolicy);
  const plain = openMachines(MARKS).filter(isPolicy);
  const secrets = all.filter(({ kind }) => kind === "Secret");
  const isStamper = ({ kind }: Manifest): boolean => kind.startsWith("Mutating");
  return when(".Values.machines.enabled", [
    when(
      "not .Values.join.tls.existingSecret",
      secrets.map((secret) => object(secret, { keep: "true" })),
    ),
    when(".Values.rbac.create", roles.map(roleTemplate)),
    when('ne .Values.admission.mode "external"', [
      ...policies.filter((each) => !isStamper(each)).map((each) => policyTemplate(each, plain)),
      when(
        'eq .Values.admission.mode "validating-and-mutating"',
        policies.filter(isStamper).map((each) => object(each)),
      ),
    ]),
  ]);
}

const isPolicy = ({ apiVersion }: Manifest): boolean => apiVersion.startsWith("admissionregistration.k8s.io/");

/** One of them says less where the customer has not given the right to sign serving certificates. */
function policyTemplate(policy: Manifest, plain: readonly Manifest[]): string {
  const text = object(policy);
  const other = plain.find(({ kind, metadata }) => kind === policy.kind && metadata.name === policy.metadata.name);
  if (other === undefined || object(other) === text) return text;
  const signs = ".Values.machines.signServing";
  return [when(signs, [text]), when(`not ${signs}`, [object(other)])].join("");
}

const FORCE = `  - apiGroups:
      - ""
    resources:
      - pods
    verbs:
      - delete
`;
const SERVING = "      - kubernetes.io/kubelet-serving\n";

/** Two rights are the customer's to give. */
function roleTemplate(role: Manifest): string {
  const text = object(role);
  if (role.kind !== "ClusterRole" || !role.metadata.name.startsWith(MARKS.machinesAccount)) return text;
  for (const part of [FORCE, SERVING]) {
    if (text.split(part).length !== 2) throw new Error(`${role.metadata.name} has other rules`);
  }
  return text
    .replace(FORCE, when(".Values.machines.allowForce", [FORCE]))
    .replace(SERVING, when(".Values.machines.signServing", [SERVING]));
}
