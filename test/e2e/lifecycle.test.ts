import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createClient } from "../../src/api-client/client.ts";
import { type AccessGrant, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { type KubeObject, resources } from "../../src/kube/objects/resource.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { isReady, soon, useCast } from "./cast.ts";
import { CHART, helm, installSallyport, RELEASE } from "./installation.ts";
import { kubectl } from "./kubectl.ts";

const cast = useCast();

/** The state of everything asked for so far; a second run of any line would show. */
async function records(): Promise<readonly string[]> {
  const grants = await cast().list<AccessGrant>(accessGrants, GRANTS);
  const invocations = await cast().list<OperationInvocation>(operationInvocations, GRANTS);
  return [...grants, ...invocations].map(({ kind, metadata, status }) => {
    const times = status !== undefined && "startedAt" in status ? `${status.startedAt} ${status.finishedAt}` : "";
    return `${kind} ${metadata.name} ${metadata.uid} ${status?.state} ${times}`;
  });
}

const scaleTo = (replicas: number) => ({
  command: "kubernetes/scale",
  summary: `to ${replicas}`,
  params: { namespace: SHOP, kind: "deployment", name: "web", replicas },
});

async function runs(replicas: number): Promise<void> {
  const { id, approve } = await cast().ask(scaleTo(replicas));
  await cast().approve(approve);
  await cast().grant(id, ({ status }) => status?.state === "Completed");
}

/** An agent that ends without the platform holds its deployments for five minutes, in which a new one's reports are refused. */
async function givenBack(): Promise<void> {
  const { directUrl: baseUrl, keyFiles } = cast().scene.vendor;
  const credential = (await readFile(keyFiles.runtime, "utf8")).trim();
  const manager = createClient({ baseUrl, credential, userAgent: "e2e" });
  try {
    const { deployments } = await manager.sync.list({ body: {} }, soon());
    for (const { id: deploymentId, lockedBy: session } of deployments) {
      if (session !== null) await manager.sync.release({ body: { deploymentId, session } }, soon());
    }
  } finally {
    await manager.close();
  }
}

// The first release has no chart before it, so the same chart under another version, with values that change the pods,
// takes its place. From the second release on use the last tag's chart.
describe("another version of the chart", () => {
  test("takes over and gives back: records stay, what waits goes on, nothing runs twice", async () => {
    const { scene } = cast();
    const newer = join(scene.folder, "newer-chart");
    await cp(CHART, newer, { recursive: true });
    const description = join(newer, "Chart.yaml");
    const text = await readFile(description, "utf8");
    await writeFile(description, text.replace(/^version: .*$/m, "version: 99.0.0"));
    await runs(3);
    const before = await records();
    const waiting = await cast().ask(scaleTo(2));

    const values = { log: { level: "debug" }, agent: { replicas: 2 } };
    await helm(scene, ["upgrade", RELEASE, newer, "--wait", "--timeout", "180s"], values, soon());
    expect(await helm(scene, ["list"], undefined, soon())).toContain("sallyport-99.0.0");
    await eventually(
      () => cast().pods("agent"),
      (pods) => pods.length === 2 && pods.every(isReady),
      60_000,
    );
    expect(await records()).toEqual(expect.arrayContaining([...before]));
    await cast().approve(waiting.approve);
    await cast().grant(waiting.id, ({ status }) => status?.state === "Completed");

    const between = await records();
    await helm(scene, ["rollback", RELEASE, "--wait", "--timeout", "180s"], undefined, soon());
    await eventually(
      () => cast().pods("agent"),
      (pods) => pods.length === 1 && pods.every(isReady),
      60_000,
    );
    expect(await records()).toEqual(expect.arrayContaining([...between]));
    await runs(3);
    await runs(2);
  }, 600_000);
});

describe("uninstalling while the platform is down", () => {
  test("ends within a minute, leaves kinds and records, and a later installation takes them over", async () => {
    const { scene } = cast();
    const { approve, id } = await cast().ask(scaleTo(2));
    await cast().grant(id, ({ status }) => status?.state === "Pending");
    const before = await records();
    await cast().setPlatform("shut");
    try {
      const startedAt = performance.now();
      await helm(scene, ["uninstall", RELEASE, "--wait", "--timeout", "60s"], undefined, soon());
      const seconds = (performance.now() - startedAt) / 1_000;
      console.log(`uninstalled in ${seconds.toFixed(1)} s`);
      expect(seconds).toBeLessThan(60);
      await eventually(
        () => cast().list<KubeObject>(resources.pods, SYSTEM, "app.kubernetes.io/instance=sallyport"),
        (pods) => pods.length === 0,
        60_000,
      );
      const kinds = await kubectl(scene, ["get", "crd", "-o", "name"], soon());
      expect(kinds.split("\n").filter((line) => line.endsWith(".sallyport.dev")).length).toBeGreaterThanOrEqual(4);
      expect(await records()).toEqual(expect.arrayContaining([...before]));
      const finalizers = "jsonpath={.items[*].metadata['finalizers','deletionTimestamp']}";
      const ours = "accessgrants,operationinvocations,manageddeployments";
      expect(await kubectl(scene, ["get", ours, "-n", GRANTS, "-o", finalizers], soon())).toBe("");
    } finally {
      await cast().setPlatform("open");
      await givenBack();
      await installSallyport(scene, {}, soon());
    }
    expect(await records()).toEqual(expect.arrayContaining([...before]));
    // The request that waited all this time.
    await cast().approve(approve);
    await cast().grant(id, ({ status }) => status?.state === "Completed");
  }, 600_000);
});
