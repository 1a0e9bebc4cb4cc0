import { expect, test } from "vitest";
import { ofKind, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

const helm = useHelm();

// The values `observe.kinds`: the agent's right and its setting say the same.
const KINDS = ["deployments", "statefulSets", "daemonSets", "replicaSets", "pods", "jobs", "cronJobs"];
const ALL = [...KINDS, "podDisruptionBudgets", "persistentVolumeClaims"];
const observed = async (off: readonly string[], more: object = {}) => {
  const kinds = Object.fromEntries(off.map((kind) => [kind, false]));
  const objects = await helm.render({ ...REQUIRED, namespaces: ["shop"], observe: { kinds }, ...more });
  const roles = ofKind(objects, "Role", "ClusterRole").filter(
    ({ metadata }) => metadata.name === "sallyport-agent-observe",
  );
  const [agent] = ofKind(objects, "Deployment").filter(({ metadata }) => metadata.name.endsWith("-agent"));
  const [container] = agent?.spec.template.spec.containers ?? [];
  return {
    rules: roles.flatMap(({ rules }) => rules ?? []).flatMap(({ resources }: Rendered) => resources),
    told: container.env.find(({ name }: Rendered) => name === "SALLYPORT_OBSERVED_KINDS").value.split(","),
  };
};

test("all kinds are observed by default", async () => {
  const { rules, told } = await observed([]);
  expect(rules).toEqual(ALL.map((kind) => kind.toLowerCase()));
  expect(told.toSorted()).toEqual(rules.toSorted());
});

test.each(ALL)("%s off: the agent has no right to it and is told so", async (kind) => {
  const { rules, told } = await observed([kind]);
  expect([rules.length, told.length]).toEqual([8, 8]);
  expect([...rules, ...told]).not.toContain(kind.toLowerCase());
});

test("all kinds off, in roles of namespaces", async () => {
  const { rules, told } = await observed(ALL, { rbac: { scope: "namespaces" } });
  expect([rules, told]).toEqual([[], ["none"]]);
});
