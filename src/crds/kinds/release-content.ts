import Type, { type TUnsafe } from "typebox";
import type { Manifest } from "../manifest.ts";
import { DeploymentRef, Digest, Line, PlatformId, rules } from "../schema.ts";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";
import { asAsked } from "./kind-rules.ts";

/** Most objects of one release; a rollout's plan and waves are kept in one status, which has to stay readable. */
export const MAX_RELEASE_OBJECTS = 300;
/** A layer of the stack's dependencies is a wave. */
export const MAX_WAVES = 64;

/** One object as it is applied. */
export type ReleaseManifest = Manifest;

/** Any Kubernetes object: kept, not pruned. The API server checks that it has `apiVersion`, `kind` and `metadata`. */
const EmbeddedObject: TUnsafe<ReleaseManifest> = Type.Unsafe<ReleaseManifest>({
  type: "object",
  "x-kubernetes-embedded-resource": true,
  "x-kubernetes-preserve-unknown-fields": true,
});

const ASKED = ["deploymentId", "version", "digest", "configHash"];

const Spec = Type.Object(
  {
    deploymentId: DeploymentRef,
    releaseId: Type.Optional(PlatformId),
    version: Line(1, 256),
    digest: Digest,
    configHash: Type.String({ maxLength: 64, pattern: "^[0-9a-f]{64}$" }),
    objects: Type.Array(
      Type.Object({
        wave: Type.Integer({ minimum: 0, maximum: MAX_WAVES - 1 }),
        frozen: Type.Boolean({ description: "Applied only while the deployment is set up." }),
        resourceId: Line(1, 128),
        manifest: EmbeddedObject,
      }),
      { minItems: 1, maxItems: MAX_RELEASE_OBJECTS, "x-kubernetes-list-type": "atomic" },
    ),
  },
  // CEL does not see into a manifest: an admission policy compares the whole spec, and the operator the digest.
  rules(asAsked(ASKED, ["releaseId"], "a release's content is immutable"), {
    rule: "self.objects.size() == oldSelf.objects.size()",
    message: "a release's content is immutable",
  }),
);

/** What a release installs, object by object: written by the agent, never changed, shown to the customer as it is. */
export const RELEASE_CONTENT = {
  kind: "ReleaseContent",
  plural: "releasecontents",
  shortName: "relc",
  description: "The objects that a release installs in this cluster, as they would be applied.",
  spec: Spec,
  selectableFields: [".spec.deploymentId"],
  columns: [
    { name: "Deployment", type: "string", jsonPath: ".spec.deploymentId" },
    { name: "Version", type: "string", jsonPath: ".spec.version" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Digest", type: "string", jsonPath: ".spec.digest", priority: 1 },
  ],
} as const satisfies Kind;

export const releaseContents = resourceOf(RELEASE_CONTENT);
export type ReleaseContent = ObjectOf<typeof RELEASE_CONTENT>;
export type ReleaseContentSpec = ReleaseContent["spec"];
export type ReleaseObject = ReleaseContentSpec["objects"][number];
