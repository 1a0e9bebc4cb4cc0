import { type Types, values, words } from "./field-types.ts";

const HEAD = words("apiVersion kind status");

/** Networks and volumes. */
export const NETWORK_FIELDS: Types = {
  Service: { own: HEAD, of: { metadata: "ObjectMeta", spec: "ServiceSpec" } },
  ServiceSpec: {
    own: words(
      "allocateLoadBalancerNodePorts externalTrafficPolicy internalTrafficPolicy ipFamilies ipFamilyPolicy " +
        "loadBalancerSourceRanges publishNotReadyAddresses sessionAffinity trafficDistribution",
    ),
    of: { ports: "ServicePort", sessionAffinityConfig: "SessionAffinityConfig" },
    ruled: words("externalIPs selector type"),
    shown: values("clusterIP clusterIPs externalName healthCheckNodePort loadBalancerClass loadBalancerIP"),
  },
  ServicePort: { own: words("appProtocol name port protocol targetPort"), shown: values("nodePort") },
  SessionAffinityConfig: { of: { clientIP: "ClientIPConfig" } },
  ClientIPConfig: { own: ["timeoutSeconds"] },
  Ingress: { own: HEAD, of: { metadata: "ObjectMeta", spec: "IngressSpec" } },
  IngressSpec: {
    of: { defaultBackend: "IngressBackend", rules: "IngressRule", tls: "IngressTLS" },
    shown: values("ingressClassName"),
  },
  IngressBackend: { of: { service: "IngressServiceBackend" }, refused: ["resource"] },
  IngressServiceBackend: { of: { port: "ServiceBackendPort" }, shown: { name: "Service" } },
  ServiceBackendPort: { own: words("name number") },
  IngressRule: { of: { http: "HTTPIngressRuleValue" }, shown: values("host") },
  HTTPIngressRuleValue: { of: { paths: "HTTPIngressPath" } },
  HTTPIngressPath: { own: words("path pathType"), of: { backend: "IngressBackend" } },
  IngressTLS: { reads: { secretName: "Secret" }, shown: values("hosts") },
  NetworkPolicy: { own: words("apiVersion kind"), of: { metadata: "ObjectMeta", spec: "NetworkPolicySpec" } },
  NetworkPolicySpec: { own: ["policyTypes"], ruled: ["podSelector"], shown: values("egress ingress") },
  PersistentVolumeClaim: { own: HEAD, of: { metadata: "ObjectMeta", spec: "PersistentVolumeClaimSpec" } },
  "PersistentVolumeClaim@within": {
    own: HEAD,
    of: { metadata: "ObjectMeta@within", spec: "PersistentVolumeClaimSpec" },
  },
  PersistentVolumeClaimTemplate: { of: { metadata: "ObjectMeta@within", spec: "PersistentVolumeClaimSpec" } },
  PersistentVolumeClaimSpec: {
    own: words("accessModes volumeMode"),
    of: { resources: "VolumeResourceRequirements" },
    ruled: words("dataSource dataSourceRef selector storageClassName volumeName"),
    shown: values("storageClassName volumeAttributesClassName"),
  },
  VolumeResourceRequirements: { own: words("limits requests") },
};
