import { EXPIRES_AT_ANNOTATION } from "../../../src/crds/group.ts";
import { APPLYSET_LABEL, applySetId, DEPLOYMENT_ID_LABEL, ROLLOUT_UID_LABEL } from "../../../src/crds/release-names.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import type { Attack } from "../attacks.ts";
import { DEPLOYMENT_ID } from "../operator/operator-world.ts";
import { ROLLOUT_RUN, ROLLOUT_UID, releasedDeployment } from "../releases/released-objects.ts";
import { create, patch } from "./writes.ts";

// What attackers of releases write, and the objects that they write it about.

export type Who =
  | "agent"
  | "operator"
  | "plan"
  | "rollout"
  | "unnamed"
  | "approver"
  | "oncall"
  | "mutator"
  | "stranger"
  | "admin";
export const OTHER_UID = "1badcafe-0000-4000-8000-000000000002";
/** Another deployment that is accepted for the same namespace. */
export const OTHERS = { [APPLYSET_LABEL]: applySetId("dpl-other", GRANTS), [DEPLOYMENT_ID_LABEL]: "dpl_other" };
export const DIGEST = `sha256:${"a".repeat(64)}`;
export const OTHER_DIGEST = `sha256:${"b".repeat(64)}`;
export const say = (name: string, spec: object): readonly string[] => patch("rout", name, { spec }, "-n", GRANTS);
const ours = (kind: string, name: string, spec: object, metadata: object = {}): object => ({
  ...{ apiVersion: "sallyport.dev/v1alpha1", kind, metadata: { name, namespace: GRANTS, ...metadata }, spec },
});

export function rollout(name: string, spec: object = {}, metadata: object = {}): object {
  const asked = {
    ...{ rolloutId: name, deploymentId: DEPLOYMENT_ID, action: "update", contentName: "rel-1", contentDigest: DIGEST },
    ...{ requestedAt: "2026-01-01T12:00:00Z", deadline: "2026-01-01T13:00:00Z" },
  };
  return ours("Rollout", name, { ...asked, ...spec }, metadata);
}

export function content(name: string, metadata: object = {}): object {
  const object = { wave: 0, frozen: false, resourceId: "api", manifest: releasedDeployment("api") };
  const spec = {
    deploymentId: DEPLOYMENT_ID,
    version: "1",
    digest: DIGEST,
    configHash: "c".repeat(64),
    objects: [object],
  };
  return ours("ReleaseContent", name, spec, metadata);
}

const RELEASE = "sallyport-op-release-apply";
export const UNNAMED = "rollout-0badcafe0000";
const soon = (minutes: number): string => `${new Date(Date.now() + minutes * 60_000).toISOString().slice(0, 19)}Z`;

export interface Lent {
  readonly role?: string;
  readonly account?: string;
  readonly name?: string;
  readonly kind?: string;
  readonly labels?: object;
  readonly minutes?: number;
  readonly namespace?: string;
}

export function binding(lent: Lent = {}): object {
  const { role = RELEASE, account = ROLLOUT_RUN, name = account, kind = "RoleBinding", namespace = SHOP } = lent;
  const { labels = { [ROLLOUT_UID_LABEL]: ROLLOUT_UID }, minutes = 119 } = lent;
  const annotations = { [EXPIRES_AT_ANNOTATION]: soon(minutes) };
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind,
    metadata: { name, ...(kind === "RoleBinding" && { namespace }), labels, annotations },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: GRANTS }],
  };
}

export const owner = (uid: string): object => ({
  ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "Rollout", name: "waiting", uid },
});

export function account(name: string, metadata: object = {}, namespace = GRANTS): object {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, ...metadata } };
}

export const PLANS = "sallyport-plan-accounts";
export const OBJECTS = "sallyport-rollout-objects";
export const ACCOUNTS = "sallyport-rollout-service-accounts";
export const CONFIG_MAPS = "sallyport-rollout-config-maps";
export const CLAIMS = "sallyport-rollout-volume-claims";
export const CLAIM_NAMES = "sallyport-rollout-claim-names";
export const SERVICE_NAMES = "sallyport-rollout-service-names";
export const WORDS = "sallyport-rollout-words";
export const CONTENT = "sallyport-release-content";
export const BINDINGS = "sallyport-operator-bindings";
export const MADE = "sallyport-operator-objects";
export const RUNS = { policy: OBJECTS, as: "rollout" } as const;

/** A Deployment that a rollout may not make. */
export const pod = (title: string, words: string, spec: object, container: object = {}): Attack<Who> => ({
  ...{ title, words, ...RUNS },
  ...create(() => releasedDeployment("fresh", spec, container)),
});
/** An object of a release that a rollout may not make. */
export const made = (title: string, words: string, object: () => object): Attack<Who> => ({
  ...{ title, words, ...RUNS },
  ...create(object),
});
export const claimOf = (spec: object): object => ({
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
});
export const marked = (pod: object, metadata: object = {}): object => {
  const { spec } = releasedDeployment("fresh", pod) as unknown as {
    readonly spec: { readonly template: { readonly metadata: object } };
  };
  const { template } = spec;
  return { ...spec, template: { ...template, metadata: { ...template.metadata, ...metadata } } };
};
export const PINNED = { nodeSelector: { "kubernetes.io/hostname": "n-1" } };
export const NETWORK = { annotations: { "k8s.v1.cni.cncf.io/networks": "storage" } };
export const security = (context: object): object => ({ securityContext: context });
export const volume = (source: object): object => ({ volumes: [{ name: "v", ...source }] });

/** What the account of one deployment's rollout does to another deployment's. */
export const acrossDeployments = (title: string, ...args: readonly string[]): Attack<Who> => ({
  ...{ title, ...RUNS, words: "objects of its own deployment only" },
  args: () => [...args, "-n", SHOP, "--dry-run=server"],
});
