import { describe, expect, test } from "vitest";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { resources } from "../../src/kube/objects/resource.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { isReady, type Pod, soon, useCast } from "./cast.ts";
import { helm, RELEASE } from "./installation.ts";
import { APPROVER } from "./scene.ts";

// The whole path once: the vendor asks, the approver decides, real pods change, and both sides report the same.

const cast = useCast();

const WEB = { namespace: SHOP, kind: "deployment", name: "web" } as const;

async function playThrough(command: string, params: Readonly<Record<string, string | number>>) {
  const { id, approve } = await cast().ask({ command, summary: command, params });
  await cast().approve(approve);
  const grant = await cast().grant(id, ({ status }) => status?.state === "Completed");
  const request = await cast().request(id, ({ execution }) => execution.state === "succeeded");
  const [invocation] = (await cast().list<OperationInvocation>(operationInvocations, GRANTS)).filter(
    ({ spec }) => spec.grantName === grant.metadata.name,
  );
  return { grant, request, invocation };
}

test("the manager is healthy, by heartbeats from inside of the cluster", async () => {
  const { managerId } = cast().scene.vendor;
  const read = () => cast().engineer.managers.get({ params: { id: managerId } }, soon());
  const { status } = await eventually(read, (manager) => manager.status === "healthy", 60_000);
  expect(status).toBe("healthy");
});

describe("a request that the customer approves", () => {
  test("scales a real Deployment: as many pods are ready as were asked for", async () => {
    const { grant, request, invocation } = await playThrough("kubernetes/scale", { ...WEB, replicas: 4 });
    const ready = await eventually(
      () => cast().webPods(),
      (pods) => pods.length === 4 && pods.every(isReady),
      120_000,
    );
    expect(new Set(ready.map(({ spec }) => spec.nodeName)).size).toBe(2);
    expect(grant.spec.decidedBy).toBe(APPROVER);
    expect(grant.status?.conditions?.find(({ type }) => type === "IdentityVerified")).toMatchObject({ status: "True" });
    expect(request).toMatchObject({ status: "customer-approved", decision: { by: APPROVER, identity: "verified" } });
    expect(invocation?.status?.state).toBe("Succeeded");
  });

  test("restarts real pods: none of those before is left", async () => {
    const before = (await cast().webPods()).map(({ metadata }) => metadata.uid);
    await playThrough("kubernetes/rollout-restart", WEB);
    const after = await eventually(
      () => cast().webPods(),
      (pods) => pods.length === 4 && pods.every((pod) => isReady(pod) && !before.includes(pod.metadata.uid)),
      180_000,
    );
    expect(after).toHaveLength(4);
    await playThrough("kubernetes/scale", { ...WEB, replicas: 2 });
  });
});

test("the log of a real pod comes to the engineer, without anybody's approval", async () => {
  const [pod] = await cast().webPods();
  const params = { namespace: SHOP, pod: pod?.metadata.name ?? "", tailLines: 20 };
  // The pod may be one that the last test has brought, and has served no order yet.
  await expect
    .poll(() => cast().look("logs", params))
    .toMatchObject({ state: "SUCCEEDED", result: { log: expect.stringMatching(/order \d+ served/) } });
});

test("helm test finds the installation well", async () => {
  const said = await helm(cast().scene, ["test", RELEASE, "--logs", "--timeout", "120s"], undefined, soon());
  expect(said.split("\n").filter((line) => /^(ok|FAIL) /.test(line))).toEqual([
    expect.stringMatching(/^ok +API server/),
    expect.stringMatching(/^ok +platform/),
    expect.stringMatching(/^ok +agent/),
    expect.stringMatching(/^ok +operator/),
  ]);
});

test("nothing of ours was started twice", async () => {
  const pods = await cast().list<Pod>(resources.pods, SYSTEM);
  const restarts = pods.flatMap(({ status }) => status?.containerStatuses?.map(({ restartCount }) => restartCount));
  expect(Math.max(...restarts.map(Number))).toBe(0);
});
