import { describe, expect, test } from "vitest";
import { envOf, ofKind, one, podOf, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

const helm = useHelm();
const tls = { existingSecret: "metrics-tls" };
const COMPONENTS = ["agent", "operator"] as const;

describe("TLS for the metrics", () => {
  test("is off, and then there is one port", async () => {
    const objects = await helm.render(REQUIRED);
    for (const component of COMPONENTS) {
      const pod = podOf(objects, `sallyport-${component}`);
      expect(pod.containers[0].ports.map(({ name }: Rendered) => name)).toEqual(["health"]);
      expect(envOf(pod).SALLYPORT_METRICS_TLS_FOLDER).toBeUndefined();
    }
  });

  test("is a port of its own in pods, Services and policies, from the Secret's keys", async () => {
    const metrics = { tls: { ...tls, certKey: "chain.pem", keyKey: "key.pem" } };
    const networkPolicy = { enabled: true };
    const objects = await helm.render({ ...REQUIRED, metrics, networkPolicy, agent: { metricsPort: 9443 } });
    const cilium = await helm.render({
      ...REQUIRED,
      metrics,
      agent: { metricsPort: 9443 },
      networkPolicy: { ...networkPolicy, cilium: networkPolicy },
    });
    for (const [component, port] of [
      ["agent", 9443],
      ["operator", 8443],
    ] as const) {
      const name = `sallyport-${component}`;
      const pod = podOf(objects, name);
      expect(pod.containers[0].ports).toMatchObject([
        { containerPort: 8080 },
        { name: "metrics", containerPort: port },
      ]);
      expect(envOf(pod)).toMatchObject({ SALLYPORT_METRICS_PORT: String(port), SALLYPORT_METRICS_AUTH: "off" });
      const folder = envOf(pod).SALLYPORT_METRICS_TLS_FOLDER;
      expect(pod.containers[0].volumeMounts).toContainEqual({ name: "metrics-tls", mountPath: folder, readOnly: true });
      expect(pod.volumes.find((each: Rendered) => each.name === "metrics-tls").secret).toMatchObject({
        secretName: "metrics-tls",
        items: [
          { key: "chain.pem", path: "tls.crt" },
          { key: "key.pem", path: "tls.key" },
        ],
      });
      expect(one(objects, "Service", name).spec.ports[1]).toMatchObject({
        name: "metrics",
        port,
        targetPort: "metrics",
      });
      const ingress = one(objects, "NetworkPolicy", name).spec.ingress[0];
      expect(ingress.ports.map((each: Rendered) => each.port)).toEqual([8080, port]);
      const [rule] = one(cilium, "CiliumNetworkPolicy", name).spec.ingress;
      expect(rule.toPorts[0].ports.map((each: Rendered) => each.port)).toEqual(["8080", String(port)]);
    }
    const check = podOf(objects, "sallyport-check");
    expect(check.volumes.map((each: Rendered) => each.name)).not.toContain("metrics-tls");
  });
});

describe("readers of the metrics", () => {
  const auth = { enabled: true };
  const named = (objects: readonly Rendered[]): readonly string[] =>
    ofKind(objects, "ClusterRole", "ClusterRoleBinding")
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
      .filter((each) => each.includes("metrics"));

  test("are checked only when asked for, and only then may the accounts ask", async () => {
    expect(named(await helm.render({ ...REQUIRED, metrics: { tls } }))).toEqual([]);
    const objects = await helm.render({ ...REQUIRED, metrics: { tls, auth } });
    expect([...named(objects)].sort()).toEqual([
      "ClusterRole sallyport-agent-metrics-auth",
      "ClusterRole sallyport-metrics-reader",
      "ClusterRole sallyport-operator-metrics-auth",
      "ClusterRoleBinding sallyport-agent-metrics-auth",
      "ClusterRoleBinding sallyport-operator-metrics-auth",
    ]);
    expect(one(objects, "ClusterRole", "sallyport-metrics-reader").rules).toEqual([
      { nonResourceURLs: ["/metrics"], verbs: ["get"] },
    ]);
    for (const component of COMPONENTS) {
      expect(envOf(podOf(objects, `sallyport-${component}`)).SALLYPORT_METRICS_AUTH).toBe("token");
    }
    expect(named(await helm.render({ ...REQUIRED, metrics: { tls, auth }, rbac: { create: false } }))).toEqual([]);
  });

  const endpointOf = async (own: object, component: string): Promise<Rendered> => {
    const metrics = { tls, auth, serviceMonitor: { enabled: true, ...own } };
    const objects = await helm.render({ ...REQUIRED, metrics });
    return one(objects, "ServiceMonitor", `sallyport-${component}`).spec.endpoints[0];
  };

  test.each(COMPONENTS)("are shown to the %s by a ServiceMonitor", async (component) => {
    expect(await endpointOf({}, component)).toMatchObject({
      port: "metrics",
      scheme: "https",
      tlsConfig: {
        serverName: `sallyport-${component}.sallyport-system.svc`,
        ca: { secret: { name: "metrics-tls", key: "ca.crt" } },
      },
      bearerTokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token",
    });
  });

  test("by a token and an authority of your own, where the monitor lies elsewhere", async () => {
    const ca = { configMap: { name: "metrics-ca", key: "ca.crt" } };
    const authorization = { credentials: { name: "reader", key: "token" } };
    const endpoint = await endpointOf({ namespace: "monitoring", tlsConfig: { ca }, authorization }, "agent");
    expect(endpoint.tlsConfig).toEqual({ serverName: "sallyport-agent.sallyport-system.svc", ca });
    expect(endpoint.authorization).toEqual(authorization);
    expect(endpoint.bearerTokenFile).toBeUndefined();
    expect((await endpointOf({ namespace: "monitoring" }, "agent")).tlsConfig.ca).toBeUndefined();
  });

  test("by a PodMonitor with a token of a Secret", async () => {
    const authorization = { credentials: { name: "reader", key: "token" } };
    const podMonitor = { enabled: true, authorization };
    const objects = await helm.render({ ...REQUIRED, metrics: { tls, auth, podMonitor } });
    const [endpoint] = one(objects, "PodMonitor", "sallyport-operator").spec.podMetricsEndpoints;
    expect(endpoint).toMatchObject({ port: "metrics", scheme: "https", authorization });
  });
});
