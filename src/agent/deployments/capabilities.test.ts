import { expect, test } from "vitest";
import type { RequiredRight } from "../../crds/manifests/roles/required-rights.ts";
import { capabilitiesOf } from "./capabilities.ts";

const right = (
  reach: RequiredRight["reach"],
  namespace: string,
  resource = "deployments",
  group = "apps",
): RequiredRight => ({
  ...{ verb: "list", group, resource, role: "sallyport-agent-observe" },
  ...{ namespace, reach },
});
const facts = { accepted: ["shop"], missing: [], debugModes: ["logs", "read"], machinePool: true, releases: true };
const denied = (accepted: readonly string[], ...missing: RequiredRight[]): string[] =>
  capabilitiesOf({ ...facts, accepted, missing })
    .filter(({ state }) => state === "denied")
    .map(({ key }) => key);

test.each([
  ["all rights", [], []],
  ["none to read an accepted namespace", [right("opened", "shop")], ["k8s-workloads"]],
  ["none to read what is beside the workloads", [right("opened", "shop", "poddisruptionbudgets")], []],
  ["none to read events", [right("opened", "shop", "events", "events.k8s.io")], []],
  ["none to read usage", [right("opened", "shop", "pods", "metrics.k8s.io")], []],
  ["none to read pods", [right("opened", "shop", "pods", "")], ["k8s-workloads"]],
  ["none to read another namespace", [right("opened", "bank")], []],
  ["none to write requests", [right("grants", "sallyport-grants")], ["operations", "logs"]],
  ["none to write debug sessions", [right("grants", "sallyport-grants", "debugsessions")], ["debug"]],
  ["none to make drains", [{ ...right("grants", "sallyport-grants"), role: "sallyport-agent-machines" }], ["machines"]],
  ["none to make rollouts", [right("grants", "sallyport-grants", "rollouts")], ["releases"]],
  ["none to make contents", [right("grants", "sallyport-grants", "releasecontents")], ["releases"]],
  [
    "none to read leases of nodes",
    [{ ...right("nodes", "kube-node-lease"), role: "sallyport-agent-machines-leases" }],
    ["machines"],
  ],
])("with %s", (_, missing, keys) => {
  expect(denied(["shop"], ...missing)).toEqual(keys);
});

test("a deployment that waits has none, and the vendor is not told which right is missing", () => {
  expect(denied([])).toEqual(["k8s-workloads", "operations", "logs", "debug", "machines", "releases"]);
  expect(JSON.stringify(capabilitiesOf({ ...facts, missing: [right("opened", "shop")] }))).not.toContain(
    "sallyport-agent-observe",
  );
});

test.each<readonly [readonly string[], object]>([
  [[], { state: "denied", detail: "debug sessions are off in this cluster" }],
  [["logs", "exec"], { state: "granted", detail: "modes: logs, exec" }],
])("debug sessions in the modes %j", (debugModes, told) => {
  const debug = capabilitiesOf({ ...facts, debugModes }).find(({ key }) => key === "debug");
  expect(debug).toEqual({ key: "debug", ...told });
});

test.each<readonly [boolean | undefined, object]>([
  [undefined, { state: "denied", detail: "machines are off in this cluster" }],
  [false, { state: "denied", detail: "the customer has no MachinePool for this deployment" }],
  [true, { state: "granted" }],
])("machines with a pool: %j", (machinePool, told) => {
  const machines = capabilitiesOf({ ...facts, machinePool }).find(({ key }) => key === "machines");
  expect(machines).toEqual({ key: "machines", ...told });
});

test.each([
  [false, "unavailable"],
  [true, "granted"],
])("releases that are on: %j", (releases, state) => {
  const found = capabilitiesOf({ ...facts, releases }).find(({ key }) => key === "releases");
  expect(found).toMatchObject({ key: "releases", state });
});
