import { describe, expect, test } from "vitest";
import type { ValueNode } from "../../scripts/generate/chart/chart-value.ts";
import { chartValues } from "../../scripts/generate/chart/chart-values.ts";
import { envOf, podOf, REQUIRED, useHelm } from "./use-helm.ts";

const helm = useHelm();

interface Place {
  readonly path: readonly string[];
  readonly isNeeded: boolean;
}

function places(node: ValueNode, path: readonly string[] = []): readonly Place[] {
  const own = path.length === 0 ? [] : [{ path, isNeeded: node.isNeeded }];
  if (node.kind === "leaf") return own;
  return [...own, ...Object.entries(node.fields).flatMap(([name, field]) => places(field, [...path, name]))];
}

/** With every object on that a removed value could break. */
const ALL = {
  ...REQUIRED,
  namespaces: ["shop"],
  proxy: { https: "http://proxy.example.com:3128" },
  networkPolicy: { enabled: true },
  quota: { create: true },
  metrics: { serviceMonitor: { enabled: true }, rules: { enabled: true }, dashboards: { enabled: true } },
  agent: { replicas: 2 },
};

function withNull(values: object, [first = "", ...rest]: readonly string[]): object {
  const inner = (values as Record<string, object | undefined>)[first];
  return { ...values, [first]: rest.length === 0 ? null : withNull(inner ?? {}, rest) };
}

const PLACES = places(chartValues());
const MUST_BE_SAID = ["platform.url", "runtimeKey.existingSecret"];
/** Renders for the leaves of the chart. Fewer of them, and a value is removed together with what hides it. */
const BATCHES = 24;

/** @returns each branch by itself; the leaves in batches, of which none has two neighbours */
function batches(): readonly (readonly [string, readonly (readonly string[])[]])[] {
  const all = PLACES.filter(({ path, isNeeded }) => !isNeeded && !MUST_BE_SAID.includes(path.join(".")));
  const isBranch = ({ path }: Place): boolean =>
    PLACES.some((other) => other.path.length > path.length && path.every((name, index) => other.path[index] === name));
  const leaves = all.filter((place) => !isBranch(place));
  const mixed = Array.from({ length: BATCHES }, (_, first) => leaves.filter((_, index) => index % BATCHES === first));
  return [...all.filter(isBranch).map((branch) => [branch]), ...mixed].map((batch) => {
    const paths = batch.map(({ path }) => path);
    return [paths.map((path) => path.join(".")).join(", "), paths];
  });
}

describe("a value that is removed with null", () => {
  test.each(batches())("%s", async (_, batch) => {
    const { code, stdout, stderr } = await helm.template(batch.reduce(withNull, ALL));
    expect(code, stderr).toBe(0);
    expect(/^ *(- )?[\w.-]+: null$|<nil>|<no value>/m.exec(stdout)?.[0]).toBeUndefined();
  });

  test.each(MUST_BE_SAID)("and that must be said is asked for: %s", async (name) => {
    expect((await helm.template(withNull(ALL, name.split(".")))).stderr).toContain(`${name} is not set`);
  });

  test("and that the chart cannot do without is refused by its name", async () => {
    const needed = PLACES.filter(({ isNeeded }) => isNeeded);
    expect(needed.length).toBeGreaterThan(80);
    // One refusal names all that is missing in a branch: each branch once.
    const branches = new Map(needed.map(({ path }) => [path.slice(0, -1).join("."), path]));
    for (const path of branches.values()) {
      const { code, stderr } = await helm.template(withNull(ALL, path));
      expect(code, path.join(".")).not.toBe(0);
      expect(stderr, path.join(".")).toContain(`'${path.at(-1)}'`);
      expect(stderr).not.toContain("nil pointer");
    }
  });

  test("takes a probe, the limits or the heap's size away", async () => {
    const agent = { startupProbe: null, resources: { limits: null } };
    const pod = podOf(await helm.render({ ...REQUIRED, agent, operator: { resources: null } }), "sallyport-agent");
    expect(pod.containers[0]).not.toHaveProperty("startupProbe");
    expect(pod.containers[0].resources).toEqual({ requests: { cpu: "20m", memory: "128Mi" } });
    expect(envOf(pod).NODE_OPTIONS).toBe("--max-semi-space-size=8");
  });

  test("in a map of texts takes away what an earlier file says", async () => {
    const objects = await helm.render({ ...REQUIRED, agent: { nodeSelector: { "kubernetes.io/os": null, disk: 1 } } });
    expect(podOf(objects, "sallyport-agent").nodeSelector).toEqual({ disk: "1" });
  });
});
