import { DEPLOYMENT_ID_LABEL } from "../../../src/crds/release-names.ts";
import { DEPLOYMENT_ID } from "../operator/operator-world.ts";
import {
  REGISTRY,
  type Released,
  released,
  releasedDeployment,
  securedContainer,
} from "../releases/released-objects.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";

// Objects of each installable kind that nothing refuses, and what breaks a rule in one field.

const OWN = { [DEPLOYMENT_ID_LABEL]: DEPLOYMENT_ID };
/** What starts first stays, so that it may have probes. */
const first = { initContainers: [securedContainer({ name: "i", restartPolicy: "Always" })] };
const { selector, template } = releasedDeployment("api", first).spec as {
  readonly selector: object;
  readonly template: object;
};
const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const once = { ...template, spec: { ...(template as { readonly spec: object }).spec, restartPolicy: "Never" } };
const backend = { service: { name: "api", port: { number: 80 } } };

export const SOUND: Readonly<Record<string, Released>> = {
  "Deployment.apps": released("apps/v1", "Deployment", "api", { spec: { selector, template } }),
  "StatefulSet.apps": released("apps/v1", "StatefulSet", "api", { spec: { selector, template, serviceName: "api" } }),
  "DaemonSet.apps": released("apps/v1", "DaemonSet", "api", { spec: { selector, template } }),
  "Job.batch": released("batch/v1", "Job", "api", { spec: { template: once } }),
  "CronJob.batch": released("batch/v1", "CronJob", "api", {
    spec: { schedule: "0 0 1 1 *", jobTemplate: { spec: { template: once } } },
  }),
  Service: released("v1", "Service", "api", { spec: { selector: OWN, ports: [{ port: 80 }] } }),
  ConfigMap: released("v1", "ConfigMap", "api"),
  PersistentVolumeClaim: released("v1", "PersistentVolumeClaim", "api", { spec: claim }),
  ServiceAccount: released("v1", "ServiceAccount", "api"),
  "PodDisruptionBudget.policy": released("policy/v1", "PodDisruptionBudget", "api", {
    spec: { maxUnavailable: 1, selector: { matchLabels: OWN } },
  }),
  "HorizontalPodAutoscaler.autoscaling": released("autoscaling/v2", "HorizontalPodAutoscaler", "api", {
    spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "api" } },
  }),
  "Ingress.networking.k8s.io": released("networking.k8s.io/v1", "Ingress", "api", {
    spec: { rules: [{ host: "a.example", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }] },
  }),
  "NetworkPolicy.networking.k8s.io": released("networking.k8s.io/v1", "NetworkPolicy", "api", {
    spec: { podSelector: { matchLabels: OWN } },
  }),
};

/** What one of a type needs, for the API server to take it. */
const NEEDED: Readonly<Record<string, JsonObject>> = {
  Container: { name: "c", image: `${REGISTRY}/api:2` },
  ContainerPort: { containerPort: 80 },
  HTTPGetAction: { port: 80 },
  TCPSocketAction: { port: 80 },
  PodAffinityTerm: { topologyKey: "zone", labelSelector: { matchLabels: { a: "b" } } },
  WeightedPodAffinityTerm: { weight: 1 },
  PodResourceClaim: { name: "r" },
  Volume: { name: "v" },
  "PersistentVolumeClaim@within": { metadata: { name: "data" }, spec: claim },
  PersistentVolumeClaimTemplate: { spec: claim },
  EnvVar: { name: "A" },
  ConfigMapKeySelector: { key: "k" },
  SecretKeySelector: { key: "k" },
  ServiceAccountTokenProjection: { path: "t" },
};

/** A value that is refused, by the name of the field; of names that the customer has not named. */
const BAD: Readonly<Record<string, Json>> = {
  add: ["SYS_ADMIN"],
  allowPrivilegeEscalation: true,
  annotations: { "customers.example/obeyed": "x" },
  automountServiceAccountToken: true,
  dataSource: { kind: "PersistentVolumeClaim", name: "theirs" },
  dataSourceRef: { kind: "PersistentVolumeClaim", name: "theirs" },
  externalIPs: ["192.0.2.1"],
  finalizers: ["customers.example/keep"],
  gmsaCredentialSpec: "{}",
  gmsaCredentialSpecName: "theirs",
  host: "db.example",
  hostIPC: true,
  hostNetwork: true,
  hostPID: true,
  hostPort: 80,
  hostProcess: true,
  image: "elsewhere.example/api:2",
  labels: { "customers.example/obeyed": "x" },
  limits: { "customers.example/gpu": "1" },
  manualSelector: true,
  maxReplicas: 1000,
  namespaceSelector: {},
  namespaces: ["billing"],
  nodeName: "n-1",
  nodeSelector: { "kubernetes.io/hostname": "n-1" },
  ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "u" }],
  parallelism: 1000,
  persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" },
  podCertificate: { signerName: "s.example/s", keyType: "ED25519", credentialBundlePath: "c.pem" },
  podSelector: {},
  preferredDuringSchedulingIgnoredDuringExecution: [
    { weight: 1, preference: { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "Exists" }] } },
  ],
  priority: 1000,
  privileged: true,
  procMount: "Unmasked",
  replicas: 1000,
  requests: { "customers.example/gpu": "1" },
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "Exists" }] }],
  },
  resource: { kind: "Bucket", name: "theirs" },
  runAsUser: 0,
  scaleTargetRef: { apiVersion: "v1", kind: "ReplicationController", name: "theirs" },
  schedulingGroup: { podGroupName: "theirs" },
  secrets: [{ name: "theirs" }],
  imagePullSecrets: [{ name: "theirs" }],
  selector: { matchLabels: { app: "theirs" } },
  storageClassName: "",
  sysctls: [{ name: "kernel.msgmax", value: "1" }],
  deletionGracePeriodSeconds: 1,
  deletionTimestamp: "2026-01-01T00:00:00Z",
  generation: 1,
  managedFields: [{ manager: "m", operation: "Update" }],
  // Volumes of the node, of drivers, and of what lies outside.
  awsElasticBlockStore: { volumeID: "v" },
  azureDisk: { diskName: "d", diskURI: "d" },
  azureFile: { secretName: "s", shareName: "s" },
  cephfs: { monitors: ["m"] },
  cinder: { volumeID: "v" },
  csi: { driver: "d.example" },
  fc: { targetWWNs: ["w"], lun: 1 },
  flexVolume: { driver: "d" },
  flocker: { datasetName: "d" },
  gcePersistentDisk: { pdName: "d" },
  gitRepo: { repository: "r" },
  glusterfs: { endpoints: "e", path: "p" },
  hostPath: { path: "/" },
  iscsi: { targetPortal: "p", iqn: "iqn.2026-01.example:s", lun: 1 },
  nfs: { server: "n", path: "/" },
  photonPersistentDisk: { pdID: "p" },
  portworxVolume: { volumeID: "v" },
  quobyte: { registry: "r:1", volume: "v" },
  rbd: { monitors: ["m"], image: "i" },
  scaleIO: { gateway: "g", system: "s", volumeName: "v", secretRef: { name: "s" } },
  storageos: { volumeName: "v", volumeNamespace: "n" },
  vsphereVolume: { volumePath: "v" },
};

export function badValue(type: string, field: string): Json {
  if (type === "ServiceSpec" && field === "selector") return { app: "theirs" };
  if (type === "ServiceSpec" && field === "type") return "NodePort";
  if (type === "SELinuxOptions") return "unconfined";
  if (field === "type") return "Unconfined";
  if (type === "Volume" && field === "image") return { reference: "i:1" };
  return BAD[field] ?? "theirs";
}

/** The object with this value at the end of the path. A step that ends with `[]` goes into the first of a list. */
export function withValue(
  node: Json | undefined,
  types: readonly string[],
  [first = "", ...rest]: readonly string[],
  value: Json,
): JsonObject {
  const [type = "", ...inner] = types;
  const base: JsonObject = { ...NEEDED[type], ...(isObject(node) ? node : {}) };
  if (rest.length === 0) {
    if (type === "IngressBackend") return { [first]: value };
    // Of such a resource nobody may ask for more than the limit.
    if (first === "requests") return { ...base, requests: value, limits: value };
    const old = base[first];
    const isMap = isObject(old) && isObject(value) && ["annotations", "labels", "limits", "requests"].includes(first);
    return { ...base, [first]: isMap ? { ...old, ...value } : value };
  }
  if (!first.endsWith("[]")) return { ...base, [first]: withValue(base[first], inner, rest, value) };
  const field = first.slice(0, -2);
  const list = (base[field] ?? []) as readonly Json[];
  return { ...base, [field]: [withValue(list[0], inner, rest, value), ...list.slice(1)] };
}
