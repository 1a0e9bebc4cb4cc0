import { contentDigest } from "../../crds/content-digest.ts";
import { GROUP, objectName, VERSION } from "../../crds/group.ts";
import { RELEASE_CONTENT, type ReleaseContent, type ReleaseObject } from "../../crds/kinds/release-content.ts";
import { ROLLOUT, type Rollout } from "../../crds/kinds/rollout.ts";
import { DEPLOYMENT_ID_LABEL } from "../../crds/release-names.ts";
import type { SecretData } from "../../crds/release-secret.ts";
import type { ConfigurationSecret } from "./render/configuration-secret.ts";
import type { Wish } from "./wish.ts";

type New<T extends { readonly spec: unknown }> = Pick<T, Extract<"apiVersion" | "kind", keyof T>> & {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: T["spec"];
};
export type NewContent = New<ReleaseContent>;
export type NewRollout = New<Rollout>;

/** As long as a customer may take to say yes; the operator ends what is older. */
const MAY_WAIT_MS = 7 * 24 * 3_600_000;
/** Of the digest: two contents of one release and deployment that meet in it are told as an error. */
const NAME_DIGITS = 12;

export interface ContentOf {
  readonly deploymentId: string;
  readonly releaseId: string;
  readonly version: string;
  readonly objects: readonly ReleaseObject[];
  readonly configHash: string;
}

/** The same release and configuration have the same name, in each process. */
export function newContent({ objects, ...of }: ContentOf, namespace: string): NewContent {
  const digest = contentDigest(objects);
  const [, digits = ""] = digest.split(":");
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: RELEASE_CONTENT.kind,
    metadata: { name: `${objectName(of.releaseId)}-${digits.slice(0, NAME_DIGITS)}`, namespace },
    spec: { ...of, digest, objects },
  };
}

export interface NewSecret {
  readonly apiVersion: "v1";
  readonly kind: "Secret";
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly type: "Opaque";
  readonly immutable: true;
  readonly data: SecretData;
}

/** The one object that holds secret values: where the agent makes it, it reads nothing. */
export function newSecret({ name, data }: ConfigurationSecret, deploymentId: string, namespace: string): NewSecret {
  const metadata = { name, namespace, labels: { [DEPLOYMENT_ID_LABEL]: deploymentId } };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", immutable: true, data };
}

/**
 * @param content undefined: a deletion or detachment, which needs none.
 * @param needsApproval the setting `updates` of the deployment is approval-required
 */
export function newRollout(
  { rolloutId, action, requestedAt }: Wish,
  deploymentId: string,
  content: NewContent | undefined,
  namespace: string,
  now: Date,
  needsApproval = false,
): NewRollout {
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: ROLLOUT.kind,
    metadata: { name: objectName(rolloutId), namespace },
    spec: {
      rolloutId,
      deploymentId,
      action,
      ...(content && {
        contentName: content.metadata.name,
        contentDigest: content.spec.digest,
        version: content.spec.version,
      }),
      ...(needsApproval && action === "update" && { needsApproval }),
      requestedAt: requestedAt ?? now.toISOString(),
      deadline: new Date(now.getTime() + MAY_WAIT_MS).toISOString(),
    },
  };
}
