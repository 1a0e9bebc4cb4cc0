import Type, { type Static } from "typebox";
import { DeploymentModel } from "./deployment-state.ts";
import { FreeMap, Maybe, Strict, Words } from "./schema.ts";

const text = Type.String({ minLength: 1, maxLength: 512 });
const texts = Type.Array(text, { maxItems: 100 });
const machines = Type.Integer({ minimum: 1, maximum: 10_000 });
const textMap = Type.Record(Type.String(), Type.String({ maxLength: 1024 }));

const failureDomains = Type.Optional(
  Strict({ selectedFailureDomains: Type.Optional(texts), spread: Type.Optional(Type.Integer({ minimum: 1 })) }),
);
const ComputePool = Type.Union([
  Strict({ mode: Type.Literal("fixed"), machine: text, machines, failure_domains: failureDomains }),
  Strict({
    mode: Type.Literal("autoscale"),
    machine: text,
    min: Type.Integer({ minimum: 0, maximum: 10_000 }),
    max: machines,
    failure_domains: failureDomains,
  }),
]);

const DomainCertificate = Strict({
  aws: Type.Optional(Strict({ certificateArn: text })),
  azure: Type.Optional(Strict({ keyVaultCertificateId: text, keyVaultResourceId: text })),
  gcp: Type.Optional(Strict({ certificateName: text })),
  kubernetes: Type.Optional(Strict({ tlsSecretRef: Strict({ namespace: text, secretName: text }) })),
});
const Domains = Strict({
  customDomains: Type.Optional(
    Type.Record(Type.String(), Strict({ domain: text, certificate: Type.Optional(DomainCertificate) })),
  ),
  publicEndpointTarget: Type.Optional(
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
  cluster: Type.Optional(
    Strict({
      cloud: Type.Optional(
        Strict({
          accountId: Type.Optional(text),
          clusterId: Type.Optional(text),
          clusterName: Type.Optional(text),
          projectId: Type.Optional(text),
          region: Type.Optional(text),
          resourceGroup: Type.Optional(text),
          subscriptionId: Type.Optional(text),
        }),
      ),
      namespace: Type.Optional(text),
      ownership: Type.Optional(Words(["managed", "existing", "external"])),
    }),
  ),
  exposure: Type.Optional(Exposure),
});

/** How a deployment is set up: the brief's shape with the value lists of §4.2. */
export const StackSettings = Strict({
  compute: Type.Optional(Strict({ pools: Type.Record(Type.String(), ComputePool) })),
  deploymentModel: Type.Optional(DeploymentModel),
  domains: Type.Optional(Domains),
  externalBindings: Type.Optional(FreeMap),
  heartbeats: Type.Optional(Words(["on", "off"])),
  kubernetes: Type.Optional(KubernetesSettings),
  network: Type.Optional(Network),
  publicEndpoints: Type.Optional(Type.Record(Type.String(), textMap)),
  telemetry: Type.Optional(Words(["auto", "approval-required", "off"])),
  updates: Type.Optional(Words(["auto", "approval-required"])),
});
export type StackSettings = Static<typeof StackSettings>;
