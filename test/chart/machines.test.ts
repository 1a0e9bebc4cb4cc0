import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { AGENT_SETTINGS } from "../../src/agent/kernel/config.ts";
import { LOG_SETTINGS } from "../../src/cli/services/log-settings.ts";
import { DEFAULT_NAMES } from "../../src/crds/group.ts";
import { openMachines } from "../../src/crds/manifests/installation.ts";
import { JOIN_SETTINGS } from "../../src/join/kernel/config.ts";
import { MACHINES_SETTINGS } from "../../src/machine-controller/kernel/config.ts";
import { OPERATOR_SETTINGS } from "../../src/operator/kernel/config.ts";
import { CHART, envOf, ofKind, one, podOf, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

const helm = useHelm();
const example = join(CHART, "ci", "machines-values.yaml");
const RBAC = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
const url = "https://join.customer.example:8443";
const on = (machines: object = {}, more: object = {}): object => ({
  ...{ ...REQUIRED, namespaces: ["shop"], join: { url }, ...more },
  machines: { enabled: true, ...machines },
});
const keyOf = ({ kind, metadata }: Rendered): string => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;

/** Objects that machines add. */
async function added(values: object): Promise<readonly Rendered[]> {
  const before = await helm.render({ ...values, machines: {} });
  const known = new Set(before.map(keyOf));
  return (await helm.render(values)).filter((each) => !known.has(keyOf(each)));
}
const rightsOf = (objects: readonly Rendered[]): string =>
  ofKind(objects, ...RBAC)
    .map(({ metadata: { labels: _labels, annotations: _annotations, ...metadata }, ...rest }) => ({
      metadata,
      ...rest,
    }))
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .map((object) => stringify(object))
    .join("---\n");

test("by default nothing of machines is there", async () => {
  const objects = await helm.render({ ...REQUIRED, namespaces: ["shop"], networkPolicy: { enabled: true } });
  const names = objects.map(keyOf).filter((name) => !name.startsWith("CustomResourceDefinition"));
  expect(names.filter((name) => /machine|join/.test(name))).toEqual([]);
});

describe("the rights", () => {
  test.each([
    ["as little as can be", {}],
    ["with force and serving certificates", { allowForce: true, signServing: true }],
  ])("are those of src/crds: %s", async (_, options) => {
    const found = (await added(on(options))).filter(({ apiVersion }) => apiVersion.includes(".k8s.io/"));
    const names = { ...DEFAULT_NAMES, systemNamespace: "sallyport-system" };
    const wanted = openMachines(names, options).filter(({ apiVersion }) => apiVersion.includes(".k8s.io/"));
    const plain = ({ apiVersion, kind, metadata, ...rest }: Rendered): object => ({
      ...{ apiVersion, kind, name: metadata.name, namespace: metadata.namespace },
      ...rest,
    });
    const sorted = (objects: readonly Rendered[]): readonly object[] =>
      [...objects].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).map(plain);
    expect(sorted(found.filter(({ kind }) => kind !== "PodDisruptionBudget"))).toEqual(sorted(wanted));
  });

  test("of ci/machines beside those of an installation without are one golden file", async () => {
    const text = rightsOf(await added(on({ allowForce: true, signServing: true })));
    await expect(text).toMatchFileSnapshot("golden/rbac-machines.yaml");
  });
});

describe("the processes", () => {
  test.each([
    ["sallyport-join", "join", JOIN_SETTINGS],
    ["sallyport-machines", "machine-controller", MACHINES_SETTINGS],
    ["sallyport-agent", "agent", AGENT_SETTINGS],
    ["sallyport-operator", "operator", OPERATOR_SETTINGS],
  ])("%s is given only settings that it reads", async (name, command, settings) => {
    const pod = podOf(await helm.render(example), name);
    const known = new Set([...Object.values(settings), ...Object.values(LOG_SETTINGS)].map(({ env }) => env));
    expect(pod.containers[0].args).toEqual([command]);
    expect(Object.keys(envOf(pod)).filter((each) => each.startsWith("SALLYPORT_") && !known.has(each))).toEqual([]);
  });

  test("have what they need, and the machine controller nothing of the platform", async () => {
    const objects = await helm.render(example);
    expect(envOf(podOf(objects, "sallyport-join"))).toMatchObject({
      SALLYPORT_PLATFORM_URL: "https://platform.example.com",
      SALLYPORT_JOIN_URL: url,
      SALLYPORT_JOIN_API_SERVER: "https://10.0.0.10:6443",
      SALLYPORT_JOIN_LEAVE: "false",
    });
    expect(envOf(podOf(objects, "sallyport-agent"))).toMatchObject({
      SALLYPORT_AGENT_MACHINES: "true",
      SALLYPORT_AGENT_MACHINES_REPORT_FOREIGN: "false",
    });
    expect(envOf(podOf(objects, "sallyport-operator")).SALLYPORT_OPERATOR_MACHINES_ENABLED).toBe("true");
    const controller = podOf(objects, "sallyport-machines");
    expect(Object.keys(envOf(controller)).filter((each) => /PLATFORM|RUNTIME_KEY|PROXY/.test(each))).toEqual([]);
    expect(controller.volumes.map(({ name }: Rendered) => name)).not.toContain("runtime-key");
    expect(envOf(controller).SALLYPORT_LEASE_NAME).toBe("sallyport-machines");
  });

  test("machines reach the join server by its own Service, on its own port alone", async () => {
    const objects = await helm.render(example);
    const { spec } = one(objects, "Service", "sallyport-join-machines");
    expect(spec).toMatchObject({
      type: "LoadBalancer",
      loadBalancerSourceRanges: ["192.0.2.0/24"],
      ports: [{ port: 8443, targetPort: "join" }],
    });
    const ports = (name: string) =>
      one(objects, "NetworkPolicy", name).spec.ingress.map(({ ports: each }: Rendered) =>
        each.map(({ port }: Rendered) => port),
      );
    expect(ports("sallyport-join")).toEqual([[8080, 8444], [8443]]);
    expect(ports("sallyport-machines")).toEqual([[8080, 8443]]);
    expect(one(objects, "NetworkPolicy", "sallyport-machines").spec.egress).toHaveLength(1);
  });

  test("with Cilium as well machines reach the join server alone, from anywhere", async () => {
    const objects = await helm.render(on({}, { networkPolicy: { enabled: true, cilium: { enabled: true } } }));
    const ingress = (name: string): readonly Rendered[] => one(objects, "CiliumNetworkPolicy", name).spec.ingress;
    const ports = [{ ports: [{ port: "8443", protocol: "TCP" }] }];
    expect(ingress("sallyport-join").slice(1)).toEqual([{ fromEntities: ["all"], toPorts: ports }]);
    for (const name of ["sallyport-machines", "sallyport-agent"]) expect(ingress(name)).toHaveLength(1);
    const { egress } = one(objects, "CiliumNetworkPolicy", "sallyport-machines").spec;
    expect(egress).toEqual([{ toEntities: ["kube-apiserver"], toPorts: expect.anything() }]);
  });

  test.each([
    [{ type: "NodePort", nodePort: 30_843 }, 30_843],
    [{ type: "NodePort" }, undefined],
  ])("a port of each node, %j, is the one that join.url can name", async (service, nodePort) => {
    const objects = await helm.render(on({}, { join: { url, service } }));
    expect(one(objects, "Service", "sallyport-join-machines").spec.ports[0].nodePort).toBe(nodePort);
  });

  test("a certificate of the customer takes the place of the key that the join server makes", async () => {
    const objects = await helm.render(on({}, { join: { url, tls: { existingSecret: "join-cert" } } }));
    expect(ofKind(objects, "Secret").map(({ metadata }) => metadata.name)).not.toContain("sallyport-join-tls");
    const pod = podOf(objects, "sallyport-join");
    expect(envOf(pod).SALLYPORT_JOIN_TLS_FOLDER).toBe("/var/run/sallyport/join-tls");
    expect(pod.volumes).toContainEqual({ name: "join-tls", secret: { secretName: "join-cert", defaultMode: 292 } });
  });
});

test.each<readonly [string, object, string]>([
  ["without its address", on({}, { join: {} }), "join.url is not set"],
  ["in namespaces alone", on({}, { rbac: { scope: "namespaces" } }), "nodes are of no namespace"],
  [
    "with one account for two",
    on({ serviceAccount: { name: "one" } }, { join: { url, serviceAccount: { name: "one" } } }),
    "have the same ServiceAccount",
  ],
  ["on a port that is taken", on({}, { join: { url, port: 8080 } }), "choose another"],
])("machines %s are refused", async (_, values, words) => {
  expect((await helm.template(values)).stderr).toContain(words);
});
