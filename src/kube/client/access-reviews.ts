import type { Exchange } from "./exchange.ts";

/** One question to the authorizers. Of a resource, or with `path` of a URL outside resources. */
export type AccessAttributes =
  | {
      readonly verb: string;
      readonly group: string;
      /** Plural, as in RBAC. */
      readonly resource: string;
      readonly subresource?: string;
      /** Absent: all namespaces, or a cluster-scoped object. */
      readonly namespace?: string;
      readonly name?: string;
    }
  | { readonly verb: string; readonly path: string };

export interface Subject {
  readonly user: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface SubjectRules {
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly {
    readonly verbs: readonly string[];
    readonly nonResourceURLs?: readonly string[];
  }[];
  /** An authorizer that cannot list its rules (a webhook) leaves them out. */
  readonly incomplete: boolean;
}

const AUTHORIZATION = "/apis/authorization.k8s.io/v1";

export function selfSubjectAccessReview(
  exchange: Exchange,
  attributes: AccessAttributes,
  signal: AbortSignal,
): Promise<boolean> {
  return isAllowed(exchange, "SelfSubjectAccessReview", "selfsubjectaccessreviews", specOf(attributes), signal);
}

export function subjectAccessReview(
  exchange: Exchange,
  subject: Subject,
  attributes: AccessAttributes,
  signal: AbortSignal,
): Promise<boolean> {
  const { user, groups, uid, extra } = subject;
  const spec = { ...specOf(attributes), user, groups, uid, extra };
  return isAllowed(exchange, "SubjectAccessReview", "subjectaccessreviews", spec, signal);
}

export async function selfSubjectRulesReview(
  exchange: Exchange,
  namespace: string,
  signal: AbortSignal,
): Promise<SubjectRules> {
  const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } };
  const path = `${AUTHORIZATION}/selfsubjectrulesreviews`;
  const review = await exchange.json<{ readonly status: SubjectRules }>({ method: "POST", path, body }, signal);
  return review.status;
}

/** Whose token is it? Undefined: no authenticator of the server takes it. One try: the caller limits its questions. */
export async function tokenReview(
  exchange: Exchange,
  token: string,
  signal: AbortSignal,
): Promise<UserInfo | undefined> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
  const path = "/apis/authentication.k8s.io/v1/tokenreviews";
  const { status } = await exchange.json<{
    readonly status: { readonly authenticated?: boolean; readonly user?: UserInfo };
  }>({ method: "POST", path, body, retry: false }, signal);
  return status.authenticated === true ? status.user : undefined;
}

export async function whoAmI(exchange: Exchange, signal: AbortSignal): Promise<UserInfo> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const review = await exchange.json<{ readonly status: { readonly userInfo: UserInfo } }>(
    { method: "POST", path, body },
    signal,
  );
  return review.status.userInfo;
}

async function isAllowed(
  exchange: Exchange,
  kind: string,
  plural: string,
  spec: object,
  signal: AbortSignal,
): Promise<boolean> {
  const body = { apiVersion: "authorization.k8s.io/v1", kind, spec };
  const path = `${AUTHORIZATION}/${plural}`;
  const review = await exchange.json<{ readonly status: { readonly allowed: boolean } }>(
    { method: "POST", path, body },
    signal,
  );
  return review.status.allowed;
}

function specOf(attributes: AccessAttributes): object {
  return "path" in attributes ? { nonResourceAttributes: attributes } : { resourceAttributes: attributes };
}
