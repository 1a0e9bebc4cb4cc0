import type { Tier } from "../plan.ts";
import { label, type ParamsSpec, type RequiredField, required } from "./params.ts";
import type { ResultWords } from "./result-words.ts";

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** `namespaced`: works in the one namespace that its param `namespace` names. `cluster`: on an object that has none. */
export type Scope = "namespaced" | "cluster";

/**
 * One operation, as the customer's side of Sallyport knows it. Role, chart value, admission policies, documentation and
 * the operator's check of params are made from it. The platform has its own list, because this side must not trust it;
 * a test compares the two.
 */
export interface OperationDeclaration<S extends ParamsSpec = ParamsSpec> {
  readonly plugin: string;
  readonly name: string;
  /** `plugin/name`, as plans and policies write it. */
  readonly command: string;
  readonly tier: Tier;
  readonly scope: Scope;
  /** One sentence, for people who read what an installation may do. */
  readonly summary: string;
  readonly params: S;
  /** What the account of a grant may do while the operation runs: the rules of its shipped role. */
  readonly rules: readonly PolicyRule[];
  /** The fields that its result may carry. */
  readonly result: ResultWords;
}

type Declared<S extends ParamsSpec> = Omit<OperationDeclaration<S>, "plugin" | "command" | "scope">;

/** An operation of the plugin `kubernetes` in one namespace: its first param. */
export function namespacedOperation<S extends ParamsSpec>(
  declared: Declared<S>,
): OperationDeclaration<S & { readonly namespace: RequiredField<string> }> {
  return operation({ ...declared, scope: "namespaced", params: { namespace: required(label), ...declared.params } });
}

/** An operation of the plugin `kubernetes` on one object that has no namespace, which its param `name` names. */
export function clusterOperation<S extends ParamsSpec & { readonly name: RequiredField<string> }>(
  declared: Declared<S>,
): OperationDeclaration<S> {
  return operation({ ...declared, scope: "cluster" });
}

function operation<S extends ParamsSpec>(
  declared: Omit<OperationDeclaration<S>, "plugin" | "command">,
): OperationDeclaration<S> {
  return Object.freeze({ ...declared, plugin: "kubernetes", command: `kubernetes/${declared.name}` });
}
