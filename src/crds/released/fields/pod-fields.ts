import { type Types, values, words } from "./field-types.ts";

export const POD_FIELDS: Types = {
  PodTemplateSpec: { of: { metadata: "ObjectMeta@within", spec: "PodSpec" } },
  PodSpec: {
    own: words(
      "activeDeadlineSeconds dnsPolicy enableServiceLinks hostUsers hostname hostnameOverride preemptionPolicy restartPolicy " +
        "setHostnameAsFQDN shareProcessNamespace terminationGracePeriodSeconds overhead",
    ),
    of: {
      affinity: "Affinity",
      containers: "Container",
      initContainers: "Container",
      dnsConfig: "PodDNSConfig",
      hostAliases: "HostAlias",
      imagePullSecrets: "LocalObjectReference",
      os: "PodOS",
      readinessGates: "PodReadinessGate",
      resourceClaims: "PodResourceClaim",
      resources: "ResourceRequirements",
      schedulingGates: "PodSchedulingGate",
      securityContext: "PodSecurityContext",
      topologySpreadConstraints: "TopologySpreadConstraint",
      volumes: "Volume",
    },
    // A priority by number goes around its class. A subdomain has other pods find this one under a name of its choice.
    refused: words("ephemeralContainers priority schedulingGroup subdomain"),
    ruled: words(
      "automountServiceAccountToken hostIPC hostNetwork hostPID nodeName nodeSelector serviceAccount serviceAccountName",
    ),
    mayUse: { priorityClassName: "priorityClasses", runtimeClassName: "runtimeClasses", schedulerName: "schedulers" },
    shown: values("nodeSelector tolerations"),
  },
  Affinity: { of: { nodeAffinity: "NodeAffinity", podAffinity: "PodAffinity", podAntiAffinity: "PodAntiAffinity" } },
  NodeAffinity: {
    ruled: words("preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution"),
    shown: values("preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution"),
  },
  PodAffinity: {
    of: {
      preferredDuringSchedulingIgnoredDuringExecution: "WeightedPodAffinityTerm",
      requiredDuringSchedulingIgnoredDuringExecution: "PodAffinityTerm",
    },
  },
  PodAntiAffinity: {
    of: {
      preferredDuringSchedulingIgnoredDuringExecution: "WeightedPodAffinityTerm",
      requiredDuringSchedulingIgnoredDuringExecution: "PodAffinityTerm",
    },
  },
  WeightedPodAffinityTerm: { own: ["weight"], of: { podAffinityTerm: "PodAffinityTerm" } },
  // Beside pods of other namespaces it reads what they leave on the node; against them it keeps them from nodes.
  PodAffinityTerm: {
    own: words("matchLabelKeys mismatchLabelKeys topologyKey"),
    refused: words("namespaceSelector namespaces"),
    shown: values("labelSelector"),
  },
  TopologySpreadConstraint: {
    own: words("matchLabelKeys maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy topologyKey whenUnsatisfiable"),
    of: { labelSelector: "LabelSelector" },
  },
  PodDNSConfig: { own: words("nameservers searches"), of: { options: "PodDNSConfigOption" } },
  PodDNSConfigOption: { own: words("name value") },
  HostAlias: { own: words("hostnames ip") },
  LocalObjectReference: { reads: { name: "Secret" } },
  PodOS: { own: ["name"] },
  PodReadinessGate: { own: ["conditionType"] },
  PodResourceClaim: {
    own: ["name"],
    mayUse: { resourceClaimName: "resourceClaims", resourceClaimTemplateName: "resourceClaims" },
  },
  PodSchedulingGate: { own: ["name"] },
  PodSecurityContext: {
    own: words(
      "fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot seLinuxChangePolicy supplementalGroups supplementalGroupsPolicy",
    ),
    of: {
      appArmorProfile: "AppArmorProfile",
      seLinuxOptions: "SELinuxOptions",
      seccompProfile: "SeccompProfile",
      windowsOptions: "WindowsSecurityContextOptions",
    },
    ruled: words("runAsUser sysctls"),
  },
  AppArmorProfile: { ruled: ["type"], shown: values("localhostProfile") },
  SeccompProfile: { ruled: ["type"], shown: values("localhostProfile") },
  // A level of another pod's opens what that pod has on volumes that both have.
  SELinuxOptions: { ruled: words("role type user"), shown: values("level") },
  // The first two are an account of the customer's directory.
  WindowsSecurityContextOptions: {
    own: ["runAsUserName"],
    refused: words("gmsaCredentialSpec gmsaCredentialSpecName"),
    ruled: ["hostProcess"],
  },
  Volume: {
    own: ["name"],
    of: {
      configMap: "ConfigMapVolumeSource",
      downwardAPI: "DownwardAPIVolumeSource",
      emptyDir: "EmptyDirVolumeSource",
      ephemeral: "EphemeralVolumeSource",
      persistentVolumeClaim: "PersistentVolumeClaimVolumeSource",
      projected: "ProjectedVolumeSource",
      secret: "SecretVolumeSource",
    },
    ruled: words(
      "awsElasticBlockStore azureDisk azureFile cephfs cinder csi fc flexVolume flocker gcePersistentDisk gitRepo glusterfs " +
        "hostPath image iscsi nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume",
    ),
  },
  ConfigMapVolumeSource: {
    own: words("defaultMode optional"),
    of: { items: "KeyToPath" },
    reads: { name: "ConfigMap" },
  },
  SecretVolumeSource: {
    own: words("defaultMode optional"),
    of: { items: "KeyToPath" },
    reads: { secretName: "Secret" },
  },
  KeyToPath: { own: words("key mode path") },
  DownwardAPIVolumeSource: { own: ["defaultMode"], of: { items: "DownwardAPIVolumeFile" } },
  DownwardAPIVolumeFile: {
    own: words("mode path"),
    of: { fieldRef: "ObjectFieldSelector", resourceFieldRef: "ResourceFieldSelector" },
  },
  EmptyDirVolumeSource: { own: words("medium sizeLimit") },
  EphemeralVolumeSource: { of: { volumeClaimTemplate: "PersistentVolumeClaimTemplate" } },
  PersistentVolumeClaimVolumeSource: { own: ["readOnly"], reads: { claimName: "PersistentVolumeClaim" } },
  ProjectedVolumeSource: { own: ["defaultMode"], of: { sources: "VolumeProjection" } },
  VolumeProjection: {
    of: {
      clusterTrustBundle: "ClusterTrustBundleProjection",
      configMap: "ConfigMapProjection",
      downwardAPI: "DownwardAPIProjection",
      secret: "SecretProjection",
      serviceAccountToken: "ServiceAccountTokenProjection",
    },
    ruled: ["podCertificate"],
  },
  ClusterTrustBundleProjection: {
    own: words("optional path"),
    of: { labelSelector: "LabelSelector" },
    shown: values("name signerName"),
  },
  ConfigMapProjection: { own: ["optional"], of: { items: "KeyToPath" }, reads: { name: "ConfigMap" } },
  DownwardAPIProjection: { of: { items: "DownwardAPIVolumeFile" } },
  SecretProjection: { own: ["optional"], of: { items: "KeyToPath" }, reads: { name: "Secret" } },
  // Who believes in tokens for this audience is outside: a cloud, or a store of secrets.
  ServiceAccountTokenProjection: { own: words("expirationSeconds path"), shown: values("audience") },
};
