import { integer, matching, oneOf, type SettingsOf, truth } from "../../base/settings.ts";
import { NAMESPACE_NAME, OBJECT_NAME, RELEASE_ROLE, RELEASES_NAMESPACE } from "../../crds/group.ts";
import { READ_PATTERN } from "../../crds/released/may-read.ts";
import { MAX_PODS, USED, type UsedList, upperSnake, usePattern } from "../../crds/released/may-use.ts";
import { POD_SECURITY_LEVELS, type PodSecurity } from "../../crds/released/pod-security.ts";

/** What the customer lets releases do. */
export interface ReleaseSettings {
  /** Releases are carried out. */
  readonly releasesEnabled: boolean;
  /** Kind and group, such as `Deployment.apps`. None: each that a release may have by default. */
  readonly releasesKinds: readonly string[];
  /** Beginnings of image names that a release may pull. None: any. */
  readonly releasesRegistries: readonly string[];
  readonly releasesMayExpose: boolean;
  /** Names, and beginnings of names with a `*`, of what a release may read and does not bring. None: nothing. */
  readonly releasesMayReadSecrets: readonly string[];
  readonly releasesMayReadConfigMaps: readonly string[];
  readonly releasesMayReadVolumeClaims: readonly string[];
  /** The same of what a release may name, or bear. */
  readonly releasesMayUsePriorityClasses: readonly string[];
  readonly releasesMayUseRuntimeClasses: readonly string[];
  readonly releasesMayUseSchedulers: readonly string[];
  readonly releasesMayUseResourceClaims: readonly string[];
  readonly releasesMayUseExtendedResources: readonly string[];
  readonly releasesMayUseAnnotations: readonly string[];
  readonly releasesMayUseLabels: readonly string[];
  /** Pods that a release may have at once. */
  readonly releasesMaxPods: number;
  readonly releasesPodSecurity: PodSecurity;
  /** Objects whose fields cannot be changed are deleted and made anew. */
  readonly releasesRecreate: boolean;
  /** What the accounts of a rollout are lent. */
  readonly releasesRole: string;
  /** Releases bring the secret values of their configuration. */
  readonly releasesSecrets: boolean;
  readonly releasesNamespace: string;
}

export const RELEASE_SETTINGS: SettingsOf<ReleaseSettings> = {
  releasesEnabled: {
    env: "SALLYPORT_RELEASES_ENABLED",
    default: "false",
    doc: "Whether releases are carried out here. Without it rollouts wait. The agent has the same setting. It needs the roles and policies of releases.",
    parse: truth,
  },
  releasesKinds: {
    env: "SALLYPORT_RELEASES_KINDS",
    default: "",
    doc: "Kinds of objects that a release may have, each with its group: `Deployment.apps,Service`. Empty: workloads, Services, configuration and what belongs to them. Never RBAC, webhooks, CustomResourceDefinitions or Secrets.",
    parse: words(
      /^[A-Z][A-Za-z0-9]{0,62}(\.[a-z0-9][-a-z0-9.]{0,189})?$/,
      "kinds with their groups, such as Deployment.apps",
    ),
  },
  releasesRegistries: {
    env: "SALLYPORT_RELEASES_REGISTRIES",
    default: "",
    doc: "Registries, or repositories in them, that a release may pull images from. Empty: any.",
    parse: words(/^[A-Za-z0-9][-A-Za-z0-9._:/]{0,254}$/, "registries, such as registry.example/shop"),
  },
  releasesMayExpose: {
    env: "SALLYPORT_RELEASES_MAY_EXPOSE",
    default: "false",
    doc: "Whether a release may have Ingresses, and Services of other types than ClusterIP.",
    parse: truth,
  },
  releasesMayReadSecrets: readable("SECRETS", "Secrets"),
  releasesMayReadConfigMaps: readable("CONFIG_MAPS", "ConfigMaps"),
  releasesMayReadVolumeClaims: readable("VOLUME_CLAIMS", "volume claims"),
  releasesMayUsePriorityClasses: usable("priorityClasses"),
  releasesMayUseRuntimeClasses: usable("runtimeClasses"),
  releasesMayUseSchedulers: usable("schedulers"),
  releasesMayUseResourceClaims: usable("resourceClaims"),
  releasesMayUseExtendedResources: usable("extendedResources"),
  releasesMayUseAnnotations: usable("annotations"),
  releasesMayUseLabels: usable("labels"),
  releasesMaxPods: {
    env: "SALLYPORT_RELEASES_MAX_PODS",
    default: `${MAX_PODS}`,
    doc: "Pods that one release may have at once: replicas, the most that its autoscalers may make of them, what its Jobs run side by side, and one for each DaemonSet.",
    parse: integer(1, 1_000_000),
  },
  releasesPodSecurity: {
    env: "SALLYPORT_RELEASES_POD_SECURITY",
    default: "restricted",
    doc: "Level of Pod Security that pods of releases are held to: restricted or baseline.",
    parse: oneOf(POD_SECURITY_LEVELS),
  },
  releasesRecreate: {
    env: "SALLYPORT_RELEASES_RECREATE",
    default: "false",
    doc: "Whether a release may delete an object of its own and make it anew, where a field of it cannot be changed. Off: its plan is refused.",
    parse: truth,
  },
  releasesRole: {
    env: "SALLYPORT_RELEASES_ROLE",
    default: RELEASE_ROLE,
    doc: "ClusterRole that the accounts of a rollout are lent. The operator needs the right to bind it.",
    parse: lendable,
  },
  releasesSecrets: {
    env: "SALLYPORT_RELEASES_SECRETS",
    default: "false",
    doc: "Whether releases bring the secret values of their configuration, as a Secret in their namespace. The agent has the same setting. It needs the roles and policies of such Secrets.",
    parse: truth,
  },
  releasesNamespace: {
    env: "SALLYPORT_RELEASES_NAMESPACE",
    default: RELEASES_NAMESPACE,
    doc: "Namespace in which the agent leaves the Secrets of releases. Nothing else may live there. The agent has the same setting.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
};

/** What pods of a release may read by name. */
function readable(kind: string, of: string) {
  return {
    env: `SALLYPORT_RELEASES_MAY_READ_${kind}`,
    default: "",
    doc: `${of} of the namespace that a release may read and does not bring: names, and beginnings of names that end with \`*\`. Empty: none.`,
    parse: words(READ_PATTERN, "names, or beginnings of names with a *, such as shop-*"),
  };
}

/** What a release may name of the customer's, or bear. */
function usable(list: UsedList) {
  return {
    env: `SALLYPORT_RELEASES_MAY_USE_${upperSnake(list)}`,
    default: "",
    doc: `${USED[list].doc} Names, and beginnings of names that end with \`*\`. Empty: no others.`,
    parse: words(usePattern(list), "names, or beginnings of names with a *, such as shop-* or example.com/*"),
  };
}

/** Roles of every cluster that read Secrets and act as other accounts, which no policy of releases sees. */
const ROUND_THE_POLICIES = ["admin", "cluster-admin", "edit"];
const OUR_ROLES = "sallyport-";

/** The chart refuses the same before it installs anything; a test compares the two. */
function lendable(text: string): string {
  const name = matching(OBJECT_NAME, "the name of a ClusterRole")(text);
  if (name.startsWith(OUR_ROLES) && name !== RELEASE_ROLE) {
    throw new Error(`${RELEASE_ROLE}, or a ClusterRole of your own: the other roles of Sallyport are lent to others`);
  }
  if (ROUND_THE_POLICIES.includes(name)) {
    throw new Error(
      `a ClusterRole of your own: ${name} lets a rollout read Secrets and act as other accounts, which no policy sees`,
    );
  }
  return name;
}

/** Of a list with commas. */
function words(pattern: RegExp, what: string): (text: string) => readonly string[] {
  const parse = matching(pattern, what);
  return (text) => {
    const given = text.split(",").map((word) => word.trim());
    return Object.freeze(given.filter((word) => word !== "").map(parse));
  };
}
