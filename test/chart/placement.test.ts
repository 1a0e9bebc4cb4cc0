import { describe, expect, test } from "vitest";
import { ofKind, one, podOf, pods, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

// Where pods run, how they find names, and how an upgrade replaces them.
const helm = useHelm();
const PLACED = {
  nodeSelector: { disk: "fast" },
  tolerations: [{ key: "dedicated", operator: "Exists" }],
  affinity: { nodeAffinity: {} },
  priorityClassName: "high",
  runtimeClassName: "gvisor",
  schedulerName: "packer",
  hostAliases: [{ ip: "192.0.2.1", hostnames: ["platform.example.com"] }],
  dnsPolicy: "None",
  dnsConfig: { nameservers: ["192.0.2.53"] },
};
const WITH_OS = { ...PLACED, nodeSelector: { disk: "fast", "kubernetes.io/os": "linux" } };

test("every pod asks for a Linux node", async () => {
  for (const { name, spec } of pods(await helm.render(REQUIRED))) {
    expect(spec.nodeSelector, name).toEqual({ "kubernetes.io/os": "linux" });
  }
});

describe("placement", () => {
  test("of a component is its own; the test pod stands where the agent does", async () => {
    const objects = await helm.render({ ...REQUIRED, agent: PLACED });
    for (const name of ["sallyport-agent", "sallyport-check"]) expect(podOf(objects, name)).toMatchObject(WITH_OS);
    expect(podOf(objects, "sallyport-operator")).not.toHaveProperty("schedulerName");
  });

  test("under global is for every pod, and a component's own wins", async () => {
    const operator = { tolerations: [{ key: "own" }], nodeSelector: { disk: "slow" } };
    const objects = await helm.render({ ...REQUIRED, global: PLACED, operator });
    for (const name of ["sallyport-agent", "sallyport-check"]) expect(podOf(objects, name)).toMatchObject(WITH_OS);
    expect(podOf(objects, "sallyport-operator")).toMatchObject({
      ...WITH_OS,
      tolerations: [{ key: "own" }],
      nodeSelector: { disk: "slow", "kubernetes.io/os": "linux" },
    });
  });
});

test("strategy says how pods are replaced; Recreate needs no other word", async () => {
  const values = {
    ...REQUIRED,
    agent: { strategy: { type: "Recreate" } },
    operator: { strategy: { rollingUpdate: { maxSurge: 2 } } },
  };
  const objects = await helm.render(values);
  expect(one(objects, "Deployment", "sallyport-agent").spec.strategy).toEqual({ type: "Recreate" });
  const rollingUpdate = { maxUnavailable: 0, maxSurge: 2 };
  expect(one(objects, "Deployment", "sallyport-operator").spec.strategy).toEqual({
    type: "RollingUpdate",
    rollingUpdate,
  });
});

test("namespaceOverride moves what belongs to the release, and what names it", async () => {
  const values = { ...REQUIRED, namespaces: ["shop"], networkPolicy: { enabled: true }, agent: { replicas: 2 } };
  const [there, moved] = await Promise.all([
    helm.render(values, { namespace: "elsewhere" }),
    helm.render({ ...values, namespaceOverride: "elsewhere" }),
  ]);
  expect(moved).toEqual(there);
  const namespaces = ofKind(moved, "Deployment").map(({ metadata }: Rendered) => metadata.namespace);
  expect(namespaces).toEqual(["elsewhere", "elsewhere"]);
});
