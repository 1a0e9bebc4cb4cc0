import { expect, test } from "vitest";
import { openNamespace } from "../../../src/crds/manifests/installation.ts";
import { namespace } from "../../world/installation.ts";
import { accept } from "../../world/objects.ts";
import { SHOP } from "../../world/people.ts";
import { eventually } from "../../world/wait.ts";
import { useHealth } from "./health-world.ts";
import { containers, Scene } from "./scene.ts";

// The customer closes a namespace for a deployment by its ManagedDeployment. The agent keeps the pauses that are shipped.
const JOBS = "jobs";
const GOAL_MS = 5_000;
const shipped = { SALLYPORT_REPORT_INTERVAL: "5s", SALLYPORT_STATUS_INTERVAL: "15s" };
const accepted = { SALLYPORT_NAMESPACES: `${SHOP},${JOBS}`, SALLYPORT_DEPLOYMENTS: "" };
const { cluster, health } = useHealth({ workloads: ["api"], settings: {} });
const { seen, reports } = health;
const scene = new Scene(cluster, health);

const accepts = (namespaces: readonly string[]): Promise<void> =>
  accept(health.world.admin, health.world.deploymentId, ...namespaces);

/** Until none of these names is there. */
async function goneAfter(names: readonly string[], close: () => Promise<void>): Promise<void> {
  const startedMs = performance.now();
  await close();
  await eventually(seen, (rows) => names.every((name) => rows[name] === undefined));
  const tookMs = performance.now() - startedMs;
  console.info(`closed for a deployment: its rows were gone after ${Math.round(tookMs)} ms; the goal is ${GOAL_MS} ms`);
}

test("a namespace that is closed for a deployment takes its rows with it in seconds, and no others", async () => {
  await eventually(seen, (rows) => rows.api === "healthy 2");
  await health.stopAgent();
  await cluster().apply([namespace(JOBS), ...openNamespace(JOBS)]);
  for (const name of ["import", "export"]) {
    const metadata = { name, namespace: JOBS };
    await cluster().apply([{ apiVersion: "v1", kind: "Pod", metadata, spec: { containers } }]);
  }
  health.startAgent({ ...accepted, ...shipped });
  await eventually(scene.shown, (status) => status?.state !== "Serving");
  await accepts([SHOP, JOBS]);
  await eventually(seen, (rows) => rows.api === "healthy 2" && rows.import !== undefined && rows.export !== undefined);

  const before = reports.length;
  await goneAfter(["import", "export"], () => accepts([SHOP]));
  expect((await seen()).api).toBe("healthy 2");
  // By the first report after it, which has all of what is left.
  expect(reports[before]?.resourceLevel?.full).toBe(true);

  await goneAfter(["api", "web"], () => accepts([]));
  expect(await seen()).toEqual({});

  await accepts([SHOP]);
  await eventually(seen, (rows) => rows.api === "healthy 2");
  expect(Object.keys(await seen())).not.toContain("import");
});
