import {
  MAX_GRACE_SECONDS,
  type PodSecurity,
  PROJECTED_SOURCES,
  RELEASE_VOLUMES,
  SECCOMP_PROFILES,
} from "../../crds/released/pod-security.ts";
import { isSet, listAt, type Node, nodeAt, textAt } from "./rule-nodes.ts";

export interface PodRules {
  /** Whether the release brings a service account of that name into the pod's namespace. */
  readonly bringsAccount: (name: string) => boolean;
  /** Beginnings of image names that may be pulled. Empty: any. */
  readonly registries: readonly string[];
  readonly podSecurity: PodSecurity;
}

const HOST_NAMESPACES = ["hostNetwork", "hostPID", "hostIPC"];
const HOSTNAME = "kubernetes.io/hostname";
const SELINUX_TYPES = ["", "container_t", "container_init_t", "container_kvm_t"];

/** What is refused of a pod, by its template. */
export function podProblems(template: Node, rules: PodRules): readonly string[] {
  const { bringsAccount, registries, podSecurity } = rules;
  const pod = nodeAt(template, "spec");
  const containers = containersOf(pod);
  const account = textAt(pod, "serviceAccountName") || textAt(pod, "serviceAccount") || "default";
  return [
    ...HOST_NAMESPACES.filter((field) => isSet(pod[field])).map((field) => `${field} shares the node's own`),
    ...listAt(pod, "volumes")
      .filter((volume) => !RELEASE_VOLUMES.some((kind) => volume[kind] !== undefined) || hasOtherSource(volume))
      .map((volume) => `volume ${String(volume.name)} is of a kind that may not be used`),
    ...(account === "default" || bringsAccount(account) ? [] : [`service account ${account} is not the release's own`]),
    ...(account === "default" && pod.automountServiceAccountToken !== false
      ? ["automountServiceAccountToken must be false without a service account of the release's own"]
      : []),
    ...(account === "default" && listAt(pod, "volumes").some(hasToken)
      ? ["a projected token needs a service account of the release's own"]
      : []),
    ...placeProblems(pod),
    ...(listAt(pod, "securityContext", "sysctls").length === 0 ? [] : ["sysctls change the node's kernel"]),
    ...securityProblems("the pod", nodeAt(pod, "securityContext")),
    ...containers.flatMap((container) => containerProblems(container, registries)),
    ...(podSecurity === "baseline" ? [] : unrestricted(nodeAt(pod, "securityContext"), containers)),
  ];
}

function hasOtherSource(volume: Node): boolean {
  return listAt(volume, "projected", "sources").some((source) =>
    Object.keys(source).some((kind) => !PROJECTED_SOURCES.includes(kind)),
  );
}

function hasToken(volume: Node): boolean {
  return listAt(volume, "projected", "sources").some((source) => source.serviceAccountToken !== undefined);
}

function containersOf(pod: Node): readonly Node[] {
  return ["containers", "initContainers", "ephemeralContainers"].flatMap((list) => listAt(pod, list));
}

function isLonger({ terminationGracePeriodSeconds: seconds }: Node): boolean {
  return typeof seconds === "number" && seconds > MAX_GRACE_SECONDS;
}

/** A pod that chooses its node goes to where another pod's secrets are. */
function placeProblems(pod: Node): readonly string[] {
  const affinity = nodeAt(pod, "affinity", "nodeAffinity");
  const terms = [
    ...listAt(affinity, "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"),
    ...listAt(affinity, "preferredDuringSchedulingIgnoredDuringExecution").map(({ preference }) => nodeAt(preference)),
  ];
  const isNamed = terms.some(
    (term) =>
      listAt(term, "matchFields").length > 0 || listAt(term, "matchExpressions").some(({ key }) => key === HOSTNAME),
  );
  return [
    ...(isSet(pod.nodeName) ? ["nodeName goes around the scheduler"] : []),
    ...(nodeAt(pod, "nodeSelector")[HOSTNAME] === undefined ? [] : [`nodeSelector ${HOSTNAME} chooses a node by name`]),
    ...(isNamed ? ["nodeAffinity chooses a node by name"] : []),
    ...(isLonger(pod) ||
    containersOf(pod).some((each) => [each.livenessProbe, each.startupProbe].some((probe) => isLonger(nodeAt(probe))))
      ? [`terminationGracePeriodSeconds is more than ${MAX_GRACE_SECONDS}`]
      : []),
  ];
}

/** What the pod and each container may say, beside what containers alone may. */
function securityProblems(whose: string, security: Node): readonly string[] {
  const selinux = nodeAt(security, "seLinuxOptions");
  const isUsual =
    !isSet(selinux.user) && !isSet(selinux.role) && SELINUX_TYPES.includes(textAt(security, "seLinuxOptions", "type"));
  return [
    ...(isUsual ? [] : [`${whose} has seLinuxOptions of more than a container`]),
    ...["seccompProfile", "appArmorProfile"]
      .filter((profile) => textAt(security, profile, "type") === "Unconfined")
      .map((profile) => `${whose} has no ${profile} (Unconfined)`),
    ...(isSet(nodeAt(security, "windowsOptions").hostProcess) ? [`${whose} runs as a process of the host`] : []),
  ];
}

function containerProblems(container: Node, registries: readonly string[]): readonly string[] {
  const whose = `container ${String(container.name)}`;
  const security = nodeAt(container, "securityContext");
  const { add } = nodeAt(security, "capabilities");
  return [
    ...(isSet(security.privileged) ? [`${whose} is privileged`] : []),
    ...(isSet(security.allowPrivilegeEscalation) ? [`${whose} may escalate its privileges`] : []),
    ...(["", "Default"].includes(textAt(security, "procMount")) ? [] : [`${whose} unmasks /proc`]),
    ...(Array.isArray(add) && add.some((each) => each !== "NET_BIND_SERVICE") ? [`${whose} adds capabilities`] : []),
    ...(listAt(container, "ports").some(({ hostPort }) => isSet(hostPort))
      ? [`${whose} takes a port of the node`]
      : []),
    ...securityProblems(whose, security),
    ...(handlersOf(container).some(asksAnother) ? [`${whose} has the kubelet ask another host`] : []),
    ...(registries.length === 0 || registries.some((each) => isFrom(textAt(container, "image"), each))
      ? []
      : [`${whose} has an image that is not of an allowed registry`]),
  ];
}

/** What Pod Security `restricted` asks for beyond `baseline`. */
function unrestricted(security: Node, containers: readonly Node[]): readonly string[] {
  return [
    ...(security.runAsUser === 0 ? ["the pod runs as user 0"] : []),
    ...containers.flatMap((container) => {
      const whose = `container ${String(container.name)}`;
      const own = nodeAt(container, "securityContext");
      const { drop } = nodeAt(own, "capabilities");
      const seccomp = textAt(own, "seccompProfile", "type") || textAt(security, "seccompProfile", "type");
      return [
        ...(own.allowPrivilegeEscalation === false ? [] : [`${whose} lacks allowPrivilegeEscalation: false`]),
        ...((own.runAsNonRoot ?? security.runAsNonRoot) === true ? [] : [`${whose} lacks runAsNonRoot: true`]),
        ...(own.runAsUser === 0 ? [`${whose} runs as user 0`] : []),
        ...(SECCOMP_PROFILES.includes(seccomp)
          ? []
          : [`${whose} lacks a seccompProfile: ${SECCOMP_PROFILES.join(" or ")}`]),
        ...(Array.isArray(drop) && drop.includes("ALL") ? [] : [`${whose} does not drop ALL capabilities`]),
      ];
    }),
  ];
}

function handlersOf(container: Node): readonly Node[] {
  return [
    ...["livenessProbe", "readinessProbe", "startupProbe"].map((probe) => nodeAt(container, probe)),
    ...["postStart", "preStop"].map((moment) => nodeAt(container, "lifecycle", moment)),
  ];
}

/** The kubelet asks from the node, past what NetworkPolicies say of the pod. */
function asksAnother(handler: Node): boolean {
  return ["httpGet", "tcpSocket"].some((way) => isSet(nodeAt(handler, way).host));
}

/**
 * Whether the image's name begins with the whole of `registry`: `r.example/a` is not the beginning of `r.example/ab`. A
 * registry without a path is followed by a path alone: `r.example:5000` is another server.
 */
function isFrom(image: string, registry: string): boolean {
  if (image.startsWith(registry.endsWith("/") ? registry : `${registry}/`)) return true;
  return registry.includes("/") && (image === registry || ["@", ":"].some((end) => image.startsWith(registry + end)));
}
