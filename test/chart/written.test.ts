import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CHART, envOf, ofKind, one, podOf, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

// How values are written into objects: as texts and numbers that every reader takes alike, each key once.
const helm = useHelm();
const mainOf = (objects: readonly Rendered[], name = "sallyport-agent"): Rendered => podOf(objects, name).containers[0];
const names = (list: readonly Rendered[], key = "name"): readonly string[] => list.map((each) => each[key]);

describe("an entry of the customer takes the place of the chart's own", () => {
  test("in extraEnv", async () => {
    const extraEnv = [
      { name: "NODE_OPTIONS", value: "--max-old-space-size={{ add 50 50 }}" },
      { name: "MORE", value: "1" },
    ];
    const { env } = mainOf(await helm.render({ ...REQUIRED, agent: { extraEnv } }));
    expect(new Set(names(env)).size).toBe(env.length);
    expect(envOf({ containers: [{ env }] })).toMatchObject({ NODE_OPTIONS: "--max-old-space-size=100", MORE: "1" });
  });

  test("in extraVolumes and extraVolumeMounts", async () => {
    const agent = {
      extraVolumes: [{ name: "tmp", emptyDir: { sizeLimit: "1Gi" } }],
      extraVolumeMounts: [{ name: "tmp", mountPath: "/tmp", subPath: "own" }],
    };
    const objects = await helm.render({ ...REQUIRED, agent });
    const { volumes } = podOf(objects, "sallyport-agent");
    expect(names(volumes).filter((each) => each === "tmp")).toHaveLength(1);
    expect(volumes).toContainEqual(agent.extraVolumes[0]);
    expect(names(mainOf(objects).volumeMounts, "mountPath").filter((each) => each === "/tmp")).toHaveLength(1);
  });
});

test.each(readdirSync(join(CHART, "ci")))(
  "no number in ci/%s begins with 0, which YAML 1.1 and 1.2 read apart",
  async (name) => {
    const { stdout } = await helm.template(join(CHART, "ci", name));
    expect(stdout.match(/^ *(- )?[\w.-]+: [-+]?0[0-9_]+$/gm)).toBeNull();
  },
);

test("texts that look like numbers stay texts", async () => {
  const values = {
    ...REQUIRED,
    namespaces: ["12345"],
    grantsNamespace: "67890",
    commonLabels: { count: 1_000_000, flag: true, hex: "0x1F" },
    commonAnnotations: { count: 12_345_678_901 },
    runtimeKey: { existingSecret: "1e3", existingSecretKey: "0644" },
    trustedCA: { configMap: "007", key: "1" },
    imagePullSecrets: ["123"],
    agent: {
      nodeSelector: { generation: 1_000_000 },
      serviceAccount: { name: "404" },
      terminationGracePeriodSeconds: 1_000_000,
    },
    networkPolicy: { enabled: true },
    metrics: { serviceMonitor: { enabled: true, labels: { release: 1 } } },
    quota: { create: true },
  };
  const objects = await helm.render(values, { release: "true", namespace: "999" });
  const texts = (node: unknown, path = ""): readonly string[] => {
    if (typeof node !== "object" || node === null) return [];
    return Object.entries(node).flatMap(([key, value]) => {
      const mustBeText =
        /(^|\.)(labels|annotations|matchLabels|nodeSelector)$/.test(path) ||
        /^(name|namespace|key|secretName|serviceAccountName)$/.test(key);
      const isText = typeof value === "string" || typeof value === "object";
      return [...(mustBeText && !isText ? [`${path}.${key}: ${value}`] : []), ...texts(value, `${path}.${key}`)];
    });
  };
  expect(objects.filter(({ kind }) => kind !== "CustomResourceDefinition").flatMap((each) => texts(each))).toEqual([]);
  const { metadata, spec } = one(objects, "Deployment", "true-sallyport-agent", "999");
  expect(metadata.labels).toMatchObject({
    count: "1000000",
    flag: "true",
    hex: "0x1F",
    "app.kubernetes.io/instance": "true",
  });
  expect(metadata.annotations).toEqual({ count: "12345678901" });
  expect(spec.template.spec).toMatchObject({
    terminationGracePeriodSeconds: 1_000_000,
    nodeSelector: { generation: "1000000", "kubernetes.io/os": "linux" },
  });
});

test("a proxy's password is in a Secret and nowhere else", async () => {
  const proxy = { https: "http://user:canary-1@proxy.example.com:3128", http: "http://proxy.example.com:3129" };
  const objects = await helm.render({ ...REQUIRED, proxy, networkPolicy: { enabled: true } });
  const secret = one(objects, "Secret", "sallyport-proxy");
  expect(secret.stringData).toEqual(proxy);
  expect(JSON.stringify(objects.filter((each) => each !== secret))).not.toContain("canary-1");
  const secretKeyRef = { name: "sallyport-proxy", key: "https", optional: true };
  expect(mainOf(objects).env).toContainEqual({ name: "HTTPS_PROXY", valueFrom: { secretKeyRef } });
  const ports = one(objects, "NetworkPolicy", "sallyport-agent").spec.egress.flatMap((rule: Rendered) => rule.ports);
  expect(ports.map(({ port }: Rendered) => port)).toEqual(expect.arrayContaining([3128, 3129]));
});

test("two replicas that are not ready do not block the drain of their node", async () => {
  const budgets = ofKind(await helm.render({ ...REQUIRED, agent: { replicas: 2 } }), "PodDisruptionBudget");
  expect(budgets.map(({ spec }) => spec.unhealthyPodEvictionPolicy)).toEqual(["AlwaysAllow", "AlwaysAllow"]);
});
