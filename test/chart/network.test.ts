import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CHART, envOf, ofKind, one, podOf, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

const helm = useHelm();
const tcp = (...ports: number[]): object[] => ports.map((port) => ({ protocol: "TCP", port }));
const block = (cidr: string): object => ({ ipBlock: { cidr } });
const DNS = {
  to: [
    {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
      podSelector: { matchLabels: { "k8s-app": "kube-dns" } },
    },
  ],
  ports: [
    { protocol: "UDP", port: 53 },
    { protocol: "TCP", port: 53 },
  ],
};

describe("the network policies", () => {
  test("are not there unless asked for", async () => {
    expect(ofKind(await helm.render(REQUIRED), "NetworkPolicy")).toEqual([]);
  });

  test("let the agent to names, the API server and the platform, and the operator to the API server alone", async () => {
    const networkPolicy = {
      enabled: true,
      apiServer: { cidrs: ["10.96.0.1/32"] },
      platform: { cidrs: ["203.0.113.10/32"] },
    };
    const platform = { url: "https://platform.example.com:8443/base" };
    const objects = await helm.render({ ...REQUIRED, platform, networkPolicy });
    const apiServer = { to: [block("10.96.0.1/32")], ports: tcp(443, 6443) };
    const agent = one(objects, "NetworkPolicy", "sallyport-agent").spec;
    expect(agent.policyTypes).toEqual(["Ingress", "Egress"]);
    expect(agent.ingress).toEqual([{ ports: tcp(8080) }]);
    expect(agent.egress).toEqual([apiServer, DNS, { to: [block("203.0.113.10/32")], ports: tcp(8443) }]);
    expect(one(objects, "NetworkPolicy", "sallyport-operator").spec.egress).toEqual([apiServer]);
  });

  test("let the agent to the proxy in the platform's place", async () => {
    const proxy = { https: "http://proxy.example.com:3128" };
    const networkPolicy = { enabled: true, proxy: { cidrs: ["192.0.2.1/32"] } };
    const { spec } = one(await helm.render({ ...REQUIRED, proxy, networkPolicy }), "NetworkPolicy", "sallyport-agent");
    expect(spec.egress).toEqual([{ ports: tcp(443, 6443) }, DNS, { to: [block("192.0.2.1/32")], ports: tcp(3128) }]);
  });

  test("never hold a rule without ports, which would allow everything", async () => {
    for (const name of ["hardened", "proxy", "openshift"]) {
      for (const { spec } of ofKind(await helm.render(join(CHART, "ci", `${name}-values.yaml`)), "NetworkPolicy")) {
        for (const rule of [...(spec.ingress ?? []), ...spec.egress]) expect(rule.ports?.length).toBeGreaterThan(0);
      }
    }
  });

  test("let in only whom ingressFrom names, and the test pod", async () => {
    const from = [{ namespaceSelector: { matchLabels: { team: "monitoring" } } }];
    const objects = await helm.render({ ...REQUIRED, networkPolicy: { enabled: true, ingressFrom: from } });
    const [rule] = one(objects, "NetworkPolicy", "sallyport-operator").spec.ingress;
    expect(rule.from[0]).toEqual(from[0]);
    expect(rule.from[1].podSelector.matchLabels["app.kubernetes.io/component"]).toBe("check");
    expect(rule.from).toHaveLength(2);
  });

  test("let the test pod to both processes", async () => {
    const objects = await helm.render({ ...REQUIRED, networkPolicy: { enabled: true } });
    const { egress } = one(objects, "NetworkPolicy", "sallyport-check").spec;
    const components = egress
      .flatMap((rule: Rendered) => rule.to ?? [])
      .map((peer: Rendered) => peer.podSelector?.matchLabels["app.kubernetes.io/component"]);
    expect(components).toEqual(expect.arrayContaining(["agent", "operator"]));
  });

  test("take more rules", async () => {
    const extraEgress = [{ ports: [{ port: 4317 }] }];
    const objects = await helm.render({ ...REQUIRED, networkPolicy: { enabled: true, extraEgress } });
    for (const name of ["sallyport-agent", "sallyport-operator"]) {
      expect(one(objects, "NetworkPolicy", name).spec.egress).toContainEqual(extraEgress[0]);
    }
  });
});

describe("with Cilium", () => {
  const cilium = { enabled: true, cilium: { enabled: true } };
  const egressOf = async (values: object, name = "sallyport-agent"): Promise<readonly Rendered[]> => {
    const objects = await helm.render({ ...REQUIRED, networkPolicy: cilium, ...values });
    expect(ofKind(objects, "NetworkPolicy")).toEqual([]);
    return one(objects, "CiliumNetworkPolicy", name).spec.egress;
  };
  const ports = (...list: readonly string[]): object[] => [{ ports: list.map((port) => ({ port, protocol: "TCP" })) }];
  const apiServer = { toEntities: ["kube-apiserver"], toPorts: ports("443", "6443") };

  test("the agent reaches the platform by its name, and the operator the API server alone", async () => {
    const [server, dns, ...rest] = await egressOf({ platform: { url: "https://platform.example.com:8443/base" } });
    expect(server).toEqual(apiServer);
    expect(dns.toPorts[0].rules.dns).toEqual([{ matchPattern: "*" }]);
    expect(rest).toEqual([{ toFQDNs: [{ matchName: "platform.example.com" }], toPorts: ports("8443") }]);
    expect(await egressOf({}, "sallyport-operator")).toEqual([apiServer]);
  });

  test("a proxy stands in the platform's place, by name or by address", async () => {
    const named = await egressOf({ proxy: { https: "http://user:pw@proxy.corp:3128" } });
    expect(named.slice(2)).toEqual([{ toFQDNs: [{ matchName: "proxy.corp" }], toPorts: ports("3128") }]);
    const addressed = await egressOf({ proxy: { https: "http://192.0.2.1:3128" } });
    expect(addressed.slice(2)).toEqual([{ toCIDR: ["192.0.2.1/32"], toPorts: ports("3128") }]);
  });

  test("nothing comes in but to the health port, and the test pod reaches both processes", async () => {
    const objects = await helm.render({ ...REQUIRED, networkPolicy: cilium });
    const { ingress } = one(objects, "CiliumNetworkPolicy", "sallyport-operator").spec;
    expect(ingress).toEqual([{ fromEntities: ["all"], toPorts: ports("8080") }]);
    const peers = (await egressOf({}, "sallyport-check")).flatMap(({ toEndpoints = [] }: Rendered) => toEndpoints);
    const components = peers.map(({ matchLabels }: Rendered) => matchLabels["app.kubernetes.io/component"]);
    expect(components).toEqual(expect.arrayContaining(["agent", "operator"]));
  });

  test("rules in the other form are refused, as is a proxy whose host is not known", async () => {
    const refused = async (values: object): Promise<string> => (await helm.template({ ...REQUIRED, ...values })).stderr;
    const extraEgress = [{ ports: [{ port: 1 }] }];
    expect(await refused({ networkPolicy: { ...cilium, extraEgress } })).toContain("as Cilium writes them");
    const proxy = { existingSecret: "proxy" };
    const known = { ...cilium, proxy: { ports: [3128] } };
    expect(await refused({ proxy, networkPolicy: known })).toContain("networkPolicy.cilium.names is empty");
  });
});

describe("a proxy", () => {
  test("is for the agent, and what is inside of the cluster never goes through it", async () => {
    const proxy = {
      http: "http://p:1",
      https: "http://p:2",
      noProxy: "a.corp,10.0.0.0/8,.svc",
      clusterDomain: "k8s.corp",
    };
    const objects = await helm.render({ ...REQUIRED, proxy });
    expect(envOf(podOf(objects, "sallyport-agent"))).toMatchObject({
      HTTP_PROXY: "http://p:1",
      HTTPS_PROXY: "http://p:2",
      NO_PROXY: "localhost,127.0.0.1,::1,$(KUBERNETES_SERVICE_HOST),.svc,.k8s.corp,a.corp,10.0.0.0/8",
    });
    expect(Object.keys(envOf(podOf(objects, "sallyport-operator"))).filter((name) => /PROXY/.test(name))).toEqual([]);
  });

  test("with a password comes from a Secret, and NO_PROXY is there too", async () => {
    const objects = await helm.render({ ...REQUIRED, proxy: { existingSecret: "proxy" } });
    const { env } = podOf(objects, "sallyport-agent").containers[0];
    const secretKeyRef = { name: "proxy", key: "https", optional: true };
    expect(env).toContainEqual({ name: "HTTPS_PROXY", valueFrom: { secretKeyRef } });
    expect(envOf(podOf(objects, "sallyport-agent")).NO_PROXY).toContain("$(KUBERNETES_SERVICE_HOST)");
  });

  test("that is not set leaves no variable", async () => {
    expect(JSON.stringify(podOf(await helm.render(REQUIRED), "sallyport-agent"))).not.toContain("PROXY");
  });
});

test.each([
  ["configMap", { configMap: { name: "corp" } }],
  ["secret", { secret: { secretName: "corp" } }],
] as const)("authorities of a %s are added to the well-known ones, not put in their place", async (kind, source) => {
  const objects = await helm.render({ ...REQUIRED, trustedCA: { [kind]: "corp", key: "bundle.pem" } });
  for (const name of ["sallyport-agent", "sallyport-check"]) {
    const pod = podOf(objects, name);
    // Node adds these authorities to its own; SSL_CERT_FILE would replace them.
    expect(envOf(pod).NODE_EXTRA_CA_CERTS).toBe("/etc/sallyport/trusted-ca/ca.crt");
    expect(envOf(pod).SSL_CERT_FILE).toBeUndefined();
    const volume = pod.volumes.find((each: Rendered) => each.name === "trusted-ca");
    expect(volume).toMatchObject(source);
    expect((volume.configMap ?? volume.secret).items).toEqual([{ key: "bundle.pem", path: "ca.crt" }]);
  }
});

describe("monitoring", () => {
  test.each([
    ["serviceMonitor", "ServiceMonitor", "endpoints"],
    ["podMonitor", "PodMonitor", "podMetricsEndpoints"],
  ])("%s is there only when asked for, with labels, where asked", async (value, kind, field) => {
    expect(ofKind(await helm.render(REQUIRED), kind)).toEqual([]);
    const own = {
      enabled: true,
      namespace: "monitoring",
      labels: { release: "kps" },
      interval: "15s",
      relabelings: [{ action: "drop" }],
    };
    const monitors = ofKind(await helm.render({ ...REQUIRED, metrics: { [value]: own } }), kind);
    expect(monitors.map(({ metadata }) => metadata.name)).toEqual(["sallyport-agent", "sallyport-operator"]);
    for (const { metadata, spec } of monitors) {
      expect(metadata).toMatchObject({ namespace: "monitoring", labels: { release: "kps" } });
      expect(spec.namespaceSelector.matchNames).toEqual(["sallyport-system"]);
      expect(spec[field]).toMatchObject([
        { port: "health", path: "/metrics", interval: "15s", relabelings: [{ action: "drop" }] },
      ]);
    }
  });

  test("alerts can be left out, waited for differently, labelled and explained elsewhere", async () => {
    const alerts = async (own: object): Promise<readonly Rendered[]> => {
      const [rule] = ofKind(
        await helm.render({ ...REQUIRED, metrics: { rules: { enabled: true, ...own } } }),
        "PrometheusRule",
      );
      return rule.spec.groups.flatMap((group: Rendered) => group.rules).filter((each: Rendered) => each.alert);
    };
    const [first, second, ...others] = await alerts({});
    const changed = await alerts({
      disabled: [first.alert],
      severity: { [second.alert]: "page" },
      for: { [second.alert]: "42m" },
      extraLabels: { team: "platform" },
      runbookBaseUrl: "https://runbooks.example.com/",
    });
    expect(changed).toHaveLength(others.length + 1);
    expect(changed[0]).toMatchObject({
      alert: second.alert,
      for: "42m",
      labels: { severity: "page", team: "platform" },
    });
    for (const alert of changed)
      expect(alert.annotations.runbook_url).toMatch(/^https:\/\/runbooks\.example\.com\/[^/]+$/);
  });
});
