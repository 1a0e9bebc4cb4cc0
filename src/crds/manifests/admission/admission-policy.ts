import type { Manifest } from "../../manifest.ts";

export interface Match {
  readonly apiGroups: readonly string[];
  readonly operations: readonly ("CREATE" | "UPDATE" | "DELETE" | "CONNECT")[];
  readonly resources: readonly string[];
}

export interface Validation {
  readonly expression: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: "Forbidden";
}

export interface Named {
  readonly name: string;
  readonly expression: string;
}

export interface Params {
  readonly paramKind: { readonly apiVersion: string; readonly kind: string };
  readonly paramRef: object;
}

/** A rule whose refusal is a 403. */
export function forbid(expression: string, message: string): Validation {
  return { expression, message, reason: "Forbidden" };
}

/** CEL: what stands between the brackets of a list. */
export function quoted(words: readonly string[]): string {
  return words.map((each) => `'${each}'`).join(", ");
}

/** CEL: a service account or a node asks, not a person. */
export const MACHINE =
  "request.userInfo.username.startsWith('system:serviceaccount:') || request.userInfo.username.startsWith('system:node:') || " +
  "(has(request.userInfo.groups) && ('system:serviceaccounts' in request.userInfo.groups || 'system:nodes' in request.userInfo.groups))";

const API = "admissionregistration.k8s.io/v1";

/**
 * Fail closed: an error of a policy refuses the write. A policy judges objects of our own group, or writes by our own
 * accounts, and stops no other write. One exception: `sallyport-lending` is evaluated on every write of a RoleBinding
 * or ClusterRoleBinding, by any account, and judges those that name a role of ours, or lend that of releases.
 */
function constraints({ apiGroups, operations, resources }: Match): object {
  return {
    failurePolicy: "Fail",
    matchConstraints: { resourceRules: [{ apiGroups, apiVersions: ["*"], operations, resources }] },
  };
}

/** A ValidatingAdmissionPolicy (served since 1.30) and the binding that puts it in force. */
export function validatingPolicy(
  name: string,
  match: Match,
  policy: {
    readonly matchConditions?: readonly Named[];
    readonly variables?: readonly Named[];
    readonly validations: readonly Validation[];
    readonly auditAnnotations?: readonly { readonly key: string; readonly valueExpression: string }[];
    /** The policy is judged once for each of these objects; without any, it refuses nothing. */
    readonly params?: Params;
  },
): readonly Manifest[] {
  const { params, ...rest } = policy;
  const { paramKind, paramRef } = params ?? {};
  return [
    {
      apiVersion: API,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: { ...constraints(match), ...(paramKind && { paramKind }), ...rest },
    },
    {
      apiVersion: API,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, ...(paramRef && { paramRef }), validationActions: ["Deny"] },
    },
  ];
}

/** A MutatingAdmissionPolicy (served since 1.36) that adds one field, and its binding. */
export function stampingPolicy(
  name: string,
  match: Match,
  stamp: { readonly matchConditions: readonly Named[]; readonly path: string; readonly value: string },
): readonly Manifest[] {
  const expression = `[JSONPatch{op: 'add', path: '${stamp.path}', value: ${stamp.value}}]`;
  return [
    {
      apiVersion: API,
      kind: "MutatingAdmissionPolicy",
      metadata: { name },
      spec: {
        ...constraints(match),
        reinvocationPolicy: "IfNeeded",
        matchConditions: stamp.matchConditions,
        mutations: [{ patchType: "JSONPatch", jsonPatch: { expression } }],
      },
    },
    { apiVersion: API, kind: "MutatingAdmissionPolicyBinding", metadata: { name }, spec: { policyName: name } },
  ];
}
