import {
  MAX_GRACE_SECONDS,
  PROJECTED_SOURCES,
  RELEASE_VOLUMES,
  SECCOMP_PROFILES,
} from "../../../released/pod-security.ts";
import { forbid, type Named, quoted, type Validation } from "../admission-policy.ts";

const containersOf = (pod: "pod" | "wasPod"): string =>
  ["containers", "initContainers", "ephemeralContainers"]
    .map((list) => `variables.${pod}[?'${list}'].orValue([])`)
    .join(" + ");
const AFFINITY = "variables.pod[?'affinity'][?'nodeAffinity']";

/** CEL: what the rules below read. */
export const POD_VARIABLES: readonly Named[] = [
  { name: "containers", expression: containersOf("pod") },
  { name: "wasContainers", expression: containersOf("wasPod") },
  {
    name: "securityContexts",
    expression: "([variables.pod] + variables.containers).map(c, c[?'securityContext'].orValue({}))",
  },
  {
    name: "nodeTerms",
    expression:
      `${AFFINITY}[?'requiredDuringSchedulingIgnoredDuringExecution'][?'nodeSelectorTerms'].orValue([]) + ` +
      `${AFFINITY}[?'preferredDuringSchedulingIgnoredDuringExecution'].orValue([]).map(p, p[?'preference'].orValue({}))`,
  },
];

const HOSTNAME = "kubernetes.io/hostname";

/** What a customer has pinned or annotated stays the customer's, and keeps no later release out. */
export function podRules(): readonly Validation[] {
  const tokens =
    "variables.pod[?'volumes'].orValue([]).exists(v, v[?'projected'][?'sources'].orValue([]).exists(s, 'serviceAccountToken' in s))";
  return [
    forbid(
      "!variables.runsPods || ['hostNetwork', 'hostPID', 'hostIPC'].all(f, variables.pod[?f].orValue(false) == false)",
      "a rollout runs no pod in the node's own network, processes or IPC",
    ),
    ...volumeRules(),
    forbid(
      `!variables.runsPods || (variables.pod[?'terminationGracePeriodSeconds'].orValue(30) <= ${MAX_GRACE_SECONDS} && variables.containers.all(c, ` +
        `['livenessProbe', 'startupProbe'].all(p, c[?p][?'terminationGracePeriodSeconds'].orValue(30) <= ${MAX_GRACE_SECONDS})))`,
      `a rollout lets no pod take more than ${MAX_GRACE_SECONDS} s to end (terminationGracePeriodSeconds)`,
    ),
    forbid(
      "!variables.runsPods || variables.account != 'default' || " +
        `(variables.pod[?'automountServiceAccountToken'].orValue(true) == false && !${tokens})`,
      "a rollout gives no pod the token of the namespace's own service account (automountServiceAccountToken must be false)",
    ),
    forbid(
      "!variables.runsPods || variables.pod[?'nodeName'].orValue('') == ''",
      "a rollout chooses no node by name (nodeName)",
    ),
    forbid(
      "!variables.runsPods || " +
        `variables.pod[?'nodeSelector'][?'${HOSTNAME}'].orValue('') == variables.wasTemplate[?'spec'][?'nodeSelector'][?'${HOSTNAME}'].orValue('')`,
      `a rollout chooses no node by name (nodeSelector ${HOSTNAME})`,
    ),
    forbid(
      "!variables.runsPods || variables.nodeTerms.all(t, t[?'matchFields'].orValue([]).size() == 0 && " +
        `t[?'matchExpressions'].orValue([]).all(e, e.key != '${HOSTNAME}')) || ` +
        "variables.pod[?'affinity'].orValue({}) == variables.wasTemplate[?'spec'][?'affinity'].orValue({})",
      "a rollout chooses no node by name (nodeAffinity)",
    ),
    forbid(
      "!variables.runsPods || variables.pod[?'securityContext'][?'sysctls'].orValue([]).size() == 0",
      "a rollout changes no setting of a node's kernel (sysctls)",
    ),
    forbid(
      "!variables.runsPods || variables.securityContexts.all(s, s[?'seLinuxOptions'][?'user'].orValue('') == '' && " +
        "s[?'seLinuxOptions'][?'role'].orValue('') == '' && " +
        "s[?'seLinuxOptions'][?'type'].orValue('') in ['', 'container_t', 'container_init_t', 'container_kvm_t'])",
      "a rollout gives no pod more than SELinux lets containers do (seLinuxOptions)",
    ),
    forbid(
      "!variables.runsPods || variables.securityContexts.all(s, " +
        "['seccompProfile', 'appArmorProfile'].all(p, s[?p][?'type'].orValue('') != 'Unconfined'))",
      "a rollout runs nothing Unconfined (seccompProfile, appArmorProfile)",
    ),
    forbid(
      "!variables.runsPods || variables.securityContexts.all(s, s[?'windowsOptions'][?'hostProcess'].orValue(false) == false)",
      "a rollout runs no process of the host (windowsOptions.hostProcess)",
    ),
  ];
}

function volumeRules(): readonly Validation[] {
  return [
    forbid(
      `!variables.runsPods || variables.pod[?'volumes'].orValue([]).all(v, v.all(k, k in [${quoted(["name", ...RELEASE_VOLUMES])}]))`,
      `a rollout uses volumes of these kinds only: ${RELEASE_VOLUMES.join(", ")}`,
    ),
    forbid(
      "!variables.runsPods || variables.pod[?'volumes'].orValue([]).all(v, v[?'projected'][?'sources'].orValue([])" +
        `.all(s, s.all(k, k in [${quoted(PROJECTED_SOURCES)}])))`,
      `a rollout projects these sources only: ${PROJECTED_SOURCES.join(", ")}`,
    ),
  ];
}

export function containerRules(): readonly Validation[] {
  const each = (rule: string): string => `!variables.runsPods || variables.containers.all(c, ${rule})`;
  const security = (field: string): string => `c[?'securityContext'][?'${field}']`;
  return [
    forbid(
      each(
        `${security("privileged")}.orValue(false) == false && ${security("allowPrivilegeEscalation")}.orValue(false) == false`,
      ),
      "a rollout runs no privileged container, and none that may escalate its privileges",
    ),
    forbid(each(`${security("procMount")}.orValue('Default') == 'Default'`), "a rollout unmasks no /proc (procMount)"),
    forbid(
      each(`c[?'securityContext'][?'capabilities'][?'add'].orValue([]).all(a, a == 'NET_BIND_SERVICE')`),
      "a rollout adds no capability to a container but NET_BIND_SERVICE",
    ),
    forbid(
      each("c[?'ports'].orValue([]).all(p, p[?'hostPort'].orValue(0) == 0)"),
      "a rollout takes no port of a node (hostPort)",
    ),
    forbid(
      each(
        "['httpGet', 'tcpSocket'].all(w, ['livenessProbe', 'readinessProbe', 'startupProbe'].all(p, c[?p][?w][?'host'].orValue('') == '') && " +
          "['postStart', 'preStop'].all(m, c[?'lifecycle'][?m][?w][?'host'].orValue('') == ''))",
      ),
      "a rollout has the kubelet ask no other host (host of probes and lifecycle handlers)",
    ),
    forbid(
      "variables.registries.size() == 0 || " +
        each(
          "variables.registries.exists(r, c[?'image'].orValue('').startsWith(r.endsWith('/') ? r : r + '/') || " +
            // Without a path, what follows the colon is the port of another server.
            "(r.contains('/') && (c[?'image'].orValue('') == r || c[?'image'].orValue('').startsWith(r + '@') || " +
            "c[?'image'].orValue('').startsWith(r + ':'))))",
        ),
      "a rollout pulls images of allowed registries only (releases.registries)",
    ),
  ];
}

/** What Pod Security `restricted` asks for beyond `baseline`. */
export function restrictedRules(): readonly Validation[] {
  const open = "!variables.runsPods || !variables.isRestricted";
  const each = (rule: string): string => `${open} || variables.containers.all(c, ${rule})`;
  /** Of the container, or else of the pod. */
  const either = (path: string, fallback: string): string =>
    `c[?'securityContext']${path}.orValue(variables.pod[?'securityContext']${path}.orValue(${fallback}))`;
  const words = "(releases.podSecurity: restricted)";
  return [
    forbid(
      each("c[?'securityContext'][?'allowPrivilegeEscalation'].orValue(true) == false"),
      `a rollout runs containers with allowPrivilegeEscalation: false ${words}`,
    ),
    forbid(
      `${open} || (variables.containers.all(c, ${either("[?'runAsNonRoot']", "false")} == true) && ` +
        "variables.securityContexts.all(s, s[?'runAsUser'].orValue(1) != 0))",
      `a rollout runs containers with runAsNonRoot: true, and none as user 0 ${words}`,
    ),
    forbid(
      each(`${either("[?'seccompProfile'][?'type']", "''")} in [${quoted(SECCOMP_PROFILES)}]`),
      `a rollout runs containers with a seccompProfile: ${SECCOMP_PROFILES.join(" or ")} ${words}`,
    ),
    forbid(
      each("'ALL' in c[?'securityContext'][?'capabilities'][?'drop'].orValue([])"),
      `a rollout runs containers that drop ALL capabilities ${words}`,
    ),
  ];
}
