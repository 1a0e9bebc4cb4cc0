import { afterAll, expect, test } from "vitest";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import { type KubeObject, resources } from "../../src/kube/objects/resource.ts";
import { eventually } from "../integration/wait.ts";
import { isReady, soon, useCast } from "./cast.ts";
import { kubectl } from "./kubectl.ts";
import { GRANTS, SHOP, SYSTEM } from "./scene.ts";

const cast = useCast();
let drained = "";

afterAll(async () => {
  if (drained !== "") await kubectl(cast().scene, ["uncordon", drained], soon());
});

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
  drained = node;
  const drain = ["drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s"];
  await kubectl(cast().scene, drain, soon());
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
