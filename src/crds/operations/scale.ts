import { namespacedOperation } from "./operation.ts";
import { integer, objectName, oneOf, required } from "./params.ts";
import { WORKLOAD } from "./result-words.ts";
import { SCALABLE_KINDS } from "./workload-kinds.ts";

/** The most replicas that the policy sallyport-scale-bounds lets the account of a grant set. */
export const MAX_REPLICAS = 1_000;

export const SCALE = namespacedOperation({
  name: "scale",
  tier: "mutating",
  summary: "Sets a workload's replicas.",
  params: {
    kind: required(oneOf(SCALABLE_KINDS)),
    name: required(objectName),
    replicas: required(integer(0, MAX_REPLICAS)),
  },
  rules: [{ apiGroups: ["apps"], resources: ["deployments/scale", "statefulsets/scale"], verbs: ["get", "patch"] }],
  result: {
    ...WORKLOAD,
    from: ["replicas before", 3],
    to: ["replicas set", 5],
    running: ["pods that there are now", 3],
  },
});
