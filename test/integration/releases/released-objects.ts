import {
  type AccountOwner,
  APPLYSET_LABEL,
  applySetId,
  DEPLOYMENT_ID_LABEL,
  planAccount,
  rolloutAccount,
} from "../../../src/crds/release-names.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { DEPLOYMENT_ID } from "../operator/operator-world.ts";

export const ROLLOUT_UID = "0badcafe-0000-4000-8000-000000000001";
/** Of the tests' own deployment. */
export const ownerOf = (uid: string, deploymentId = DEPLOYMENT_ID): AccountOwner => ({
  metadata: { uid },
  spec: { deploymentId },
});
export const PLAN = planAccount(ownerOf(ROLLOUT_UID));
export const ROLLOUT_RUN = rolloutAccount(ownerOf(ROLLOUT_UID));
export const REGISTRY = "registry.example/shop";

/** Labels that each object of a release has. */
export const MEMBER: Readonly<Record<string, string>> = {
  [APPLYSET_LABEL]: applySetId("dpl-shop-1", GRANTS),
  [DEPLOYMENT_ID_LABEL]: DEPLOYMENT_ID,
};

export interface Released {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** An object as a release would have it in it. */
export function released(
  apiVersion: string,
  kind: string,
  name: string,
  rest: object = {},
  metadata: object = {},
): Released {
  return { apiVersion, kind, metadata: { name, namespace: SHOP, labels: MEMBER, ...metadata }, ...rest };
}

/** As Pod Security `restricted` takes it. */
const SECURE_POD = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };
const SECURE_CONTAINER = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };

const securityOf = (of: object): object => (of as { readonly securityContext?: object }).securityContext ?? {};

/** A container that nothing refuses, with these changes. */
export function securedContainer(container: object = {}): object {
  const securityContext = { ...SECURE_CONTAINER, ...securityOf(container) };
  return { name: "c", image: `${REGISTRY}/api:2`, ...container, securityContext };
}

/** A Deployment of a release; `pod` and `container` change what nothing refuses. */
export function releasedDeployment(
  name: string,
  pod: object = {},
  container: object = {},
  metadata: object = {},
): Released {
  const labels = { app: name, [DEPLOYMENT_ID_LABEL]: DEPLOYMENT_ID };
  const securityContext = { ...SECURE_POD, ...securityOf(pod) };
  const spec = { automountServiceAccountToken: false, containers: [securedContainer(container)], ...pod };
  const template = { metadata: { labels }, spec: { ...spec, securityContext } };
  return released("apps/v1", "Deployment", name, { spec: { selector: { matchLabels: labels }, template } }, metadata);
}
