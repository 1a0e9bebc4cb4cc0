import { RELEASE_ROLE } from "../../../src/crds/group.ts";
import { READ_PATTERN } from "../../../src/crds/released/may-read.ts";
import { MAX_PODS, USED, USED_LISTS, usePattern } from "../../../src/crds/released/may-use.ts";
import { POD_SECURITY_LEVELS } from "../../../src/crds/released/pod-security.ts";
import { RELEASE_RESOURCES } from "../../../src/crds/released/release-kinds.ts";
import {
  type Branch,
  branch,
  count,
  flag,
  type Leaf,
  leaf,
  list,
  NAMESPACE,
  OBJECT_NAME,
  text,
  words,
} from "./chart-value.ts";

const KINDS = Object.keys(RELEASE_RESOURCES);

/** Whether a promoted release of the vendor's may be installed, and of what it may consist. */
export const RELEASES_VALUES: Branch = branch(
  "Releases: what the vendor promotes is planned, shown to you, and installed in the opened namespaces of its deployment after your approval, by an account that exists for that rollout alone (docs/permissions.md).",
  {
    enabled: flag(
      false,
      "Render the rights and policies of releases. Off: nothing is installed, and the vendor is told so. Needs `lending.mode: operator` and `rbac.scope: cluster`.",
    ),
    kinds: leaf(
      KINDS,
      { type: "array", items: { enum: KINDS }, minItems: 1, uniqueItems: true },
      "Kinds that a release may consist of. One that is not named is refused, and the role of a rollout does not reach it. There are no others: never rights, webhooks, definitions, namespaces, nodes or Secrets.",
    ),
    registries: list(
      "Beginnings of image names that a release may pull, such as `registry.example.com/shop`. Empty: any.",
      [],
      { type: "string", pattern: "^[A-Za-z0-9]([A-Za-z0-9._:/-]*[A-Za-z0-9/])?$", maxLength: 256 },
    ),
    mayExpose: flag(
      false,
      "Let a release bring Ingresses and Services of other types than ClusterIP. `externalIPs` are refused either way.",
    ),
    mayRead: branch(
      "Objects of the namespace that a release may read by name though it does not bring them: names, and beginnings of names that end with `*`. Empty: none.",
      {
        secrets: readable(
          "Secrets: of variables, volumes, `imagePullSecrets` and the certificates of Ingresses. Those that the deployment's `externalBindings` name belong here.",
        ),
        configMaps: readable("ConfigMaps, of variables and volumes."),
        volumeClaims: readable("Volume claims of pods, and those that a StatefulSet finds under its own names."),
      },
    ),
    mayUse: branch(
      "What is yours, or what a controller of yours obeys, that a release may name: names, and beginnings of names that end with `*`. Empty: no others than those of docs/releases.md.",
      Object.fromEntries(
        USED_LISTS.map((each) => [
          each,
          list(USED[each].doc, [], { type: "string", pattern: usePattern(each).source, maxLength: 317 }),
        ]),
      ),
    ),
    maxPods: count(
      MAX_PODS,
      1,
      "Pods that one release may have at once: replicas, the most that its autoscalers may make of them, what its Jobs run side by side, and one for each DaemonSet.",
      1_000_000,
    ),
    podSecurity: words(
      "restricted",
      POD_SECURITY_LEVELS,
      "Level of Pod Security that pods of a release are held to. `baseline` lets containers run as root and keep capabilities; it is needed for Windows.",
    ),
    recreate: flag(
      false,
      "Let a release delete an object of its own and make it anew where a field of it cannot be changed, such as the selector of a Deployment: it does not run in between. The plan says so, and its approval needs the right for `destructive` changes. Never volume claims, nor StatefulSets with claims. Off: the plan is refused.",
    ),
    role: text(
      RELEASE_ROLE,
      "ClusterRole that the two accounts of a rollout are lent in the namespaces of its deployment. One of your own, which you make, instead of the shipped one says further what a release may do: a plan that needs more is refused, and names the kinds and verbs (docs/releases.md). Policies hold these accounts either way.",
      OBJECT_NAME,
    ),
    secrets: flag(
      false,
      "Let a release bring the secret values of its configuration, as an immutable Secret in its namespace. Off: such a release is refused, and you keep the values in a Secret of your own. On: accounts of rollouts may make and delete these Secrets there, and the operator reads the ones that the agent leaves in `releases.namespace` (docs/releases.md).",
    ),
    namespace: text(
      "sallyport-releases",
      "With `secrets`: where the agent leaves these Secrets. It is made, and holds nothing else.",
      NAMESPACE,
    ),
  },
);

function readable(doc: string): Leaf {
  return list(doc, [], { type: "string", pattern: READ_PATTERN.source, maxLength: 253 });
}
