import { expect, test } from "vitest";
import { DEFAULT_NAMES } from "../../group.ts";
import { RELEASE_RESOURCES } from "../../released/release-kinds.ts";
import { releaseRights, releaseRoles } from "./release-roles.ts";

const spoken = (who: "agent" | "operator"): readonly string[] =>
  releaseRights(who, DEFAULT_NAMES, ["shop", "billing"]).map(
    ({ verb, resource, namespace, name }) =>
      `${verb} ${resource}${name === undefined ? "" : `/${name}`} in ${namespace}`,
  );

test("the agent writes contents and rollouts once, and can neither change nor remove one", () => {
  expect(spoken("agent")).toEqual(
    ["releasecontents", "rollouts"].flatMap((resource) =>
      ["create", "get", "list", "watch"].map((verb) => `${verb} ${resource} in sallyport-grants`),
    ),
  );
});

test("the operator reports, removes old records, lends one role in each opened namespace, and reads members there", () => {
  expect(spoken("operator")).toEqual([
    ...["rollouts", "releasecontents"].flatMap((resource) =>
      ["get", "list", "watch", "delete"].map((verb) => `${verb} ${resource} in sallyport-grants`),
    ),
    ...["manageddeployments", "rollouts/status"].flatMap((resource) =>
      ["get", "patch"].map((verb) => `${verb} ${resource} in sallyport-grants`),
    ),
    ...["shop", "billing"].map((namespace) => `bind clusterroles/sallyport-op-release-apply in ${namespace}`),
    ...["shop", "billing"].flatMap((namespace) =>
      Object.values(RELEASE_RESOURCES).flatMap((resource) =>
        ["get", "list"].map((verb) => `${verb} ${resource} in ${namespace}`),
      ),
    ),
  ]);
});

test("it lends the customer's own role instead where that is named", () => {
  const needed = releaseRights("operator", { ...DEFAULT_NAMES, releaseRole: "acme-releases" }, ["shop"]);
  expect(needed.filter(({ verb }) => verb === "bind").map(({ name }) => name)).toEqual(["acme-releases"]);
});

test("of kinds that releases may not install the operator needs no right", () => {
  const needed = releaseRights("operator", DEFAULT_NAMES, ["shop"], ["Service"]);
  const read = needed.filter(({ role }) => role === "sallyport-operator-release-members");
  expect(read.map(({ verb, resource }) => `${verb} ${resource}`)).toEqual(["get services", "list services"]);
});

test("what a rollout is lent has a rule for each kind that releases may install, and reads pods and events", () => {
  const rules = releaseRoles(DEFAULT_NAMES, ["Service", "Ingress.networking.k8s.io"]).at(-1)?.rules ?? [];
  expect(rules.map(({ apiGroups, resources }) => [...apiGroups, ...resources])).toEqual([
    ["", "services"],
    ["networking.k8s.io", "ingresses"],
    ["", "pods"],
    ["events.k8s.io", "events"],
  ]);
});
