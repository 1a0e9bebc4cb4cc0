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
const denied = (accepted: readonly string[], ...missing: RequiredRight[]): string[] =>
  capabilitiesOf(accepted, missing)
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
])("with %s", (_, missing, keys) => {
  expect(denied(["shop"], ...missing)).toEqual(keys);
});

test("a deployment that waits has none, and the vendor is not told which right is missing", () => {
  expect(denied([])).toEqual(["k8s-workloads", "operations", "logs", "debug", "machines"]);
  expect(JSON.stringify(capabilitiesOf(["shop"], [right("opened", "shop")]))).not.toContain("sallyport-agent-observe");
});
