import { afterEach, expect, test } from "vitest";
import { fullOnly } from "../../src/base/testing/full.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { type KubeObject, resources } from "../../src/kube/objects/resource.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { isReady, soon, useCast } from "./cast.ts";
import { CHART, helm, RELEASE, upgradeSallyport } from "./installation.ts";
import { kubectl } from "./kubectl.ts";

const OPERATORS = "app.kubernetes.io/component=operator";
const cast = useCast();
let drained = "";

afterEach(async () => {
  if (drained !== "") await kubectl(cast().scene, ["uncordon", drained], soon());
  drained = "";
});

const drain = (node: string, seconds: number): Promise<string> => {
  drained = node;
  const args = ["--ignore-daemonsets", "--delete-emptydir-data", `--timeout=${seconds}s`];
  return kubectl(cast().scene, ["drain", node, ...args], soon());
};

/** Each line changes the Deployment, so its generation counts the lines that really ran. */
const LINES = Array.from({ length: 30 }, (_, index) => ({
  command: "kubernetes/scale",
  summary: `to ${2 + (index % 2)}`,
  params: { namespace: SHOP, kind: "deployment", name: "web", replicas: 3 - (index % 2) },
}));

test("the node under the leading operator is drained amid a plan: the other replica goes on, each line runs once", async () => {
  const generation = async (): Promise<number> => {
    const web = await cast().kube.get<Generated>(resources.deployments, { namespace: SHOP, name: "web" }, soon());
    return web?.metadata.generation ?? 0;
  };
  const before = await generation();
  const leader = () => leaderOf("sallyport-operator");
  const podOf = async (name: string) => (await cast().pods("operator")).find(({ metadata }) => metadata.name === name);
  // Just after an installation, the lease may still be that of a deleted pod.
  const leading = await eventually(
    async () => podOf(await leader()),
    ({ spec }) => spec.nodeName !== undefined,
    60_000,
  );
  const first = leading.metadata.name;
  const node = leading.spec.nodeName ?? "";

  const { id, approve } = await cast().ask(...LINES);
  await cast().approve(approve);
  const ended = async (): Promise<readonly OperationInvocation[]> => {
    const { metadata } = await cast().grant(id, () => true);
    const all = await cast().list<OperationInvocation>(operationInvocations, GRANTS);
    return all.filter(({ spec, status }) => spec.grantName === metadata.name && status?.finishedAt !== undefined);
  };
  await eventually(ended, (invocations) => invocations.length >= 2, 60_000);
  await drain(node, 120);
  // The node has no operator pod now: the other replica has to run the rest of the plan.
  expect((await ended()).length).toBeLessThan(LINES.length);

  await cast().request(id, ({ execution }) => execution.state === "succeeded");
  const invocations = await ended();
  expect(invocations.map(({ status }) => status?.state)).toEqual(LINES.map(() => "Succeeded"));
  expect((await generation()) - before).toBe(LINES.length);
  const second = await eventually(
    async () => podOf(await leader()),
    ({ metadata }) => metadata.name !== first,
    60_000,
  );
  expect(second.spec.nodeName).not.toBe(node);
  await eventually(
    () => cast().pods("operator"),
    (all) => all.length === 2 && all.every(isReady),
    120_000,
  );
}, 400_000);

fullOnly(
  "a node is drained while no operator is ready: the disruption budget does not hold an operator that does not work",
  async () => {
    const { scene } = cast();
    // Nothing listens there. An operator that never reached the API server is not ready.
    const wrong = { networkPolicy: { apiServer: { cidrs: ["192.0.2.1/32"] } } };
    try {
      await helm(scene, ["upgrade", RELEASE, CHART], wrong, soon());
      await kubectl(scene, ["delete", "pods", "-n", SYSTEM, "-l", OPERATORS, "--wait=false"], soon());
      const disabled = await eventually(
        () => cast().pods("operator"),
        (pods) => pods.length >= 2 && pods.every((pod) => !isReady(pod) && pod.status?.podIP !== undefined),
        60_000,
      );
      const healthy = ["get", "pdb", "sallyport-operator", "-n", SYSTEM, "-o", "jsonpath={.status.currentHealthy}"];
      await eventually(
        () => kubectl(scene, healthy, soon()),
        (count) => count === "0",
        60_000,
      );
      await drain(disabled[0]?.spec.nodeName ?? "", 60);
      const left = (await cast().pods("operator")).map(({ metadata }) => metadata.name);
      expect(left).not.toContain(disabled[0]?.metadata.name);
    } finally {
      await upgradeSallyport(scene, {}, soon());
    }
    await eventually(
      () => cast().pods("operator"),
      (pods) => pods.length === 2 && pods.every(isReady),
      120_000,
    );
  },
  300_000,
);

interface Generated extends KubeObject {
  readonly metadata: KubeObject["metadata"] & { readonly generation?: number };
}

interface Lease extends KubeObject {
  readonly spec?: { readonly holderIdentity?: string };
}

async function leaderOf(name: string): Promise<string> {
  const lease = await cast().kube.get<Lease>(resources.leases, { namespace: SYSTEM, name }, soon());
  return lease?.spec?.holderIdentity ?? "";
}
