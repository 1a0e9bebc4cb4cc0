import Type, { type Static } from "typebox";
import { Bounded, DOCUMENT_BYTES, FreeMap, Maybe, Strict, Words } from "../wire/schema.ts";
import { DeploymentModel } from "./deployment-state.ts";

const text = Type.String({ minLength: 1, maxLength: 512 });
const texts = Type.Array(text, { maxItems: 100 });
const machines = Type.Integer({ minimum: 1, maximum: 10_000 });
const textMap = Type.Record(Type.String(), Type.String({ maxLength: 1024 }));

const failureDomains = Maybe(
  Strict({ selectedFailureDomains: Type.Optional(texts), spread: Type.Optional(Type.Integer({ minimum: 1 })) }),
);
const ComputePool = Type.Union([
  Strict({ mode: Type.Literal("fixed"), machine: Maybe(text), machines, failure_domains: failureDomains }),
  Strict({
    mode: Type.Literal("autoscale"),
    machine: Maybe(text),
    min: Type.Integer({ minimum: 0, maximum: 10_000 }),
    max: machines,
    failure_domains: failureDomains,
  }),
]);

const DomainCertificate = Strict({
  aws: Maybe(Strict({ certificateArn: text })),
  azure: Maybe(Strict({ keyVaultCertificateId: text, keyVaultResourceId: Maybe(text) })),
  gcp: Maybe(Strict({ certificateName: text })),
  kubernetes: Maybe(Strict({ tlsSecretRef: Strict({ namespace: Maybe(text), secretName: text }) })),
});
const Domains = Strict({
  customDomains: Maybe(Type.Record(Type.String(), Strict({ domain: text, certificate: Maybe(DomainCertificate) }))),
  publicEndpointTarget: Maybe(
    Type.Union([
      Strict({ mode: Type.Literal("machineAddresses") }),
      Strict({ mode: Type.Literal("loadBalancer"), cnameTarget: text }),
    ]),
  ),
});

const ExposureCertificate = Type.Union([
  Strict({ mode: Type.Literal("none") }),
  Strict({ mode: Type.Literal("tlsSecretRef"), secretName: text, namespace: Maybe(text) }),
  Strict({ mode: Type.Literal("managedTlsSecret"), secretNameTemplate: text }),
  Strict({ mode: Type.Literal("awsAcmArn"), certificateArn: text }),
  Strict({ mode: Type.Literal("managedAcmImport"), region: Maybe(text), tags: Type.Optional(textMap) }),
]);
const routeProvider = Maybe(
  Strict({
    awsAlb: Maybe(
      Strict({ scheme: text, targetType: text, ipAddressType: Maybe(text), subnetIds: Type.Optional(texts) }),
    ),
    gkeGateway: Maybe(Strict({ staticAddressName: Maybe(text) })),
    azureApplicationGatewayForContainers: Maybe(
      Strict({ frontend: text, albName: Maybe(text), albNamespace: Maybe(text) }),
    ),
  }),
);
const routeCommon = {
  annotations: Type.Optional(textMap),
  labels: Type.Optional(textMap),
  controller: Maybe(text),
  provider: routeProvider,
};
const ExposureRoute = Type.Union([
  Strict({ routeApi: Type.Literal("ingress"), ingressClassName: text, ...routeCommon }),
  Strict({
    routeApi: Type.Literal("gateway"),
    gatewayClassName: text,
    listenerPort: Type.Integer({ minimum: 1, maximum: 65_535 }),
    ...routeCommon,
  }),
]);
const Exposure = Type.Union([
  Strict({ mode: Type.Literal("disabled") }),
  Strict({ mode: Type.Literal("generated"), certificate: ExposureCertificate, route: ExposureRoute }),
  Strict({ mode: Type.Literal("custom"), domain: text, certificate: ExposureCertificate, route: ExposureRoute }),
]);

const Network = Type.Union([
  Strict({ type: Type.Literal("use-default") }),
  Strict({
    type: Type.Literal("create"),
    cidr: Maybe(text),
    availability_zones: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
  }),
  Strict({
    type: Type.Literal("byo-vpc-aws"),
    vpc_id: text,
    public_subnet_ids: texts,
    private_subnet_ids: texts,
    security_group_ids: Type.Optional(texts),
  }),
  Strict({ type: Type.Literal("byo-vpc-gcp"), network_name: text, subnet_name: text, region: text }),
  Strict({
    type: Type.Literal("byo-vnet-azure"),
    vnet_resource_id: text,
    public_subnet_name: text,
    private_subnet_name: text,
    application_gateway_subnet_name: Maybe(text),
    private_endpoint_subnet_name: Maybe(text),
  }),
]);

const KubernetesSettings = Strict({
  cluster: Maybe(
    Strict({
      cloud: Maybe(
        Strict({
          accountId: Maybe(text),
          clusterId: Maybe(text),
          clusterName: Maybe(text),
          projectId: Maybe(text),
          region: Maybe(text),
          resourceGroup: Maybe(text),
          subscriptionId: Maybe(text),
        }),
      ),
      namespace: Maybe(text),
      ownership: Maybe(Words(["managed", "existing", "external"])),
    }),
  ),
  exposure: Maybe(Exposure),
});

/** How a deployment is set up. What a group token's policy may bound of it: §4.2. */
export const StackSettings = Bounded(
  DOCUMENT_BYTES,
  Strict({
    compute: Maybe(Strict({ pools: Maybe(Type.Record(Type.String(), ComputePool)) })),
    deploymentModel: Maybe(DeploymentModel),
    domains: Maybe(Domains),
    externalBindings: Maybe(FreeMap),
    heartbeats: Maybe(Words(["on", "off"])),
    kubernetes: Maybe(KubernetesSettings),
    network: Maybe(Network),
    publicEndpoints: Maybe(Type.Record(Type.String(), textMap)),
    telemetry: Maybe(Words(["auto", "approval-required", "off"])),
    updates: Maybe(Words(["auto", "approval-required"])),
  }),
);
export type StackSettings = Static<typeof StackSettings>;
