import { describe, expect, test } from "vitest";
import { useCluster } from "../../lab/cluster/use-cluster.ts";
import { fullOnly } from "../../src/base/testing/full.ts";
import { eventually } from "../world/wait.ts";
import { CHART, ofKind, REQUIRED, useHelm } from "./use-helm.ts";

const helm = useHelm();
const KINDS = ["ServiceMonitor", "PrometheusRule"];
const apiOf = (kind: string): string => `monitoring.coreos.com/v1/${kind}`;
const metrics = { serviceMonitor: { enabled: true }, rules: { enabled: true } };

test.each([
  ["alwaysRender", [], KINDS],
  ["skipIfMissing", [], []],
  ["skipIfMissing", ["ServiceMonitor"], ["ServiceMonitor"]],
  ["skipIfMissing", KINDS, KINDS],
  ["failIfMissing", KINDS, KINDS],
] as const)("%s in a cluster that has %j makes %j", async (renderMode, has, wanted) => {
  const objects = await helm.render(
    { ...REQUIRED, metrics: { ...metrics, renderMode } },
    { apiVersions: has.map(apiOf) },
  );
  expect([...new Set(ofKind(objects, ...KINDS).map(({ kind }) => kind))].sort()).toEqual([...wanted].sort());
});

test("failIfMissing names the value, the kind and what to do; what is off is not asked for", async () => {
  const values = { ...REQUIRED, metrics: { ...metrics, renderMode: "failIfMissing" } };
  const { code, stderr } = await helm.template(values, { apiVersions: [apiOf("ServiceMonitor")] });
  expect(code).not.toBe(0);
  expect(stderr).toContain("metrics.rules.enabled is true, and the cluster has no kind PrometheusRule");
  expect(stderr).toContain("--api-versions monitoring.coreos.com/v1/PrometheusRule");
  const off = { ...REQUIRED, metrics: { renderMode: "failIfMissing" } };
  expect((await helm.template(off)).code).toBe(0);
});

describe("on a real cluster", () => {
  const cluster = useCluster();

  fullOnly("skipIfMissing says what it left out, and makes it once the kind is there", async () => {
    const release = (...more: readonly string[]) =>
      helm.run([
        ...["upgrade", "--install", "sallyport", CHART, "-n", "sallyport-system", "--create-namespace"],
        ...["--kubeconfig", cluster().adminKubeconfig, "--set", "platform.url=https://platform.example.com"],
        ...["--set", "runtimeKey.existingSecret=key,metrics.serviceMonitor.enabled=true", ...more],
      ]);
    const failing = await release("--set", "metrics.renderMode=failIfMissing");
    expect(failing.stderr).toContain("has no kind ServiceMonitor");
    const namespaces = await cluster().kubectl(["get", "namespaces", "-o", "name"]);
    expect(namespaces.stdout).not.toContain("sallyport-grants");

    const first = await release("--set", "metrics.renderMode=skipIfMissing");
    expect(first.stderr).toBe("");
    expect(first.stdout).toContain("left out   ServiceMonitor: the cluster does not have this kind");

    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }];
    const names = { kind: "ServiceMonitor", plural: "servicemonitors", singular: "servicemonitor" };
    await cluster().apply([
      {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: "servicemonitors.monitoring.coreos.com" },
        spec: { group: "monitoring.coreos.com", scope: "Namespaced", names, versions },
      },
    ]);
    const shown = () => cluster().kubectl(["get", "servicemonitors", "-n", "sallyport-system", "-o", "name"]);
    await eventually(
      () => shown().catch(() => undefined),
      () => true,
    );
    const second = await release("--set", "metrics.renderMode=skipIfMissing");
    expect(second.stdout).not.toContain("left out");
    expect((await shown()).stdout.trim().split("\n")).toHaveLength(2);
  });
});
