import { afterAll, beforeAll, expect, test } from "vitest";
import type { DeployedResource } from "../../src/contract/resources/resources.ts";
import { SHOP } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { soon, useCast } from "./cast.ts";
import { apply, kubectl } from "./kubectl.ts";

// What real kubelets say of containers that crash, cannot be pulled or need too much memory, as the vendor reads it.
const cast = useCast();
/** Kubelets back off for 10 s, 20 s, and so on, before they say it. */
const PATIENCE_MS = 180_000;

const EATS_MEMORY = "const all = []; for (;;) all.push(Buffer.alloc(4_000_000, 1));";
const SICK = {
  crashing: { command: ["/app/node", "-e", "process.exit(3)"] },
  hungry: { command: ["/app/node", "-e", EATS_MEMORY], resources: { limits: { memory: "64Mi" } } },
  absent: { image: "sallyport.invalid/absent:1" },
} as const;

/** The namespace takes no other pods. */
const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

function deployment(name: keyof typeof SICK) {
  const labels = { app: name };
  const container = { name: "main", image: cast().scene.image.name, securityContext: RESTRICTED, ...SICK[name] };
  const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace: SHOP }, spec };
}

beforeAll(() =>
  apply(
    cast().scene,
    Object.keys(SICK).map((name) => deployment(name as keyof typeof SICK)),
    soon(),
  ),
);
afterAll(() =>
  kubectl(cast().scene, ["delete", "deployment", "-n", SHOP, "--wait=false", ...Object.keys(SICK)], soon()),
);

function told(name: string, until: (row: DeployedResource) => boolean): Promise<DeployedResource> {
  const { engineer, scene } = cast();
  const { project, deploymentId } = scene.vendor;
  const read = async (): Promise<DeployedResource | undefined> => {
    const { resources } = await engineer.resources.list({ query: { project, deploymentId } }, soon());
    return resources.find((each) => each.name === name);
  };
  return eventually(read, until, PATIENCE_MS);
}

test.each([
  ["crashing", /CrashLoopBackOff \(.*exit 3\b/],
  ["hungry", /OOMKilled/],
  ["absent", /ImagePullBackOff|ErrImagePull/],
])("%s is told in words that say why", async (name, words) => {
  const row = await told(name, ({ message }) => words.test(message ?? ""));
  expect(row.health).toMatch(/^(unhealthy|degraded)$/);
  expect(row.message).toMatch(/0 of 1 ready/);
});

test("a cluster without metrics-server is told as one, and no number is invented", async () => {
  const row = await told("web", ({ health }) => health === "healthy");
  const { deploymentId } = cast().scene.vendor;
  const params = { deploymentId, resourceId: row.resourceId, resourceType: "container" as const };
  // The agent asks for measures after it has told of the pods.
  const text = await eventually(
    async () => JSON.stringify((await cast().engineer.resources.get({ params, query: {} }, soon())).heartbeat),
    (each) => each.includes("the cluster has no metrics.k8s.io"),
    PATIENCE_MS,
  );
  expect(text).not.toContain('"cpu":{"value"');
});
