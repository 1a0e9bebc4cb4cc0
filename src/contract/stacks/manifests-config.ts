import Type, { type Static } from "typebox";
import { Maybe } from "../wire/schema.ts";
import { ResourceId } from "./workload-config.ts";

/** Most objects of one stack: a customer reads them all before a yes. */
export const MAX_STACK_OBJECTS = 300;

const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const texts = Maybe(Type.Record(Type.String(), Type.String()));

/** One Kubernetes object as it is applied. Its other fields are the cluster's to check, in the plan. */
const Manifest = Type.Object({
  apiVersion: Type.String({ maxLength: 128, pattern: `^(${LABEL}(\\.${LABEL})*/)?v[0-9]+((alpha|beta)[0-9]+)?$` }),
  kind: Type.String({ maxLength: 63, pattern: "^[A-Z][A-Za-z0-9]*$" }),
  metadata: Type.Object({
    name: Type.String({ maxLength: 253, pattern: `^${LABEL}(\\.${LABEL})*$` }),
    namespace: Type.Optional(Type.String({ maxLength: 63, pattern: `^${LABEL}$` })),
    labels: texts,
    annotations: texts,
  }),
});
export type Manifest = Static<typeof Manifest>;

/** Objects that are brought as they are (§5.6). */
export const ManifestsConfig = Type.Object({
  id: ResourceId,
  type: Type.Literal("manifests"),
  objects: Type.Array(Manifest, { minItems: 1, maxItems: MAX_STACK_OBJECTS }),
});
export type ManifestsConfig = Static<typeof ManifestsConfig>;
