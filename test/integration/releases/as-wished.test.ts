import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { isFull } from "../../../src/base/testing/full.ts";
import { runs } from "../../../src/base/testing/runs.ts";
import type { ReleaseManifest } from "../../../src/crds/kinds/release-content.ts";
import { RELEASE_FIELD_MANAGER } from "../../../src/crds/release-names.ts";
import { isAsWished } from "../../../src/operator/rollouts/hands/fields/as-wished.ts";
import { differences } from "../../../src/operator/rollouts/hands/fields/difference.ts";
import type { LiveObject } from "../../../src/operator/rollouts/hands/release-api.ts";
import { signal } from "../../world/wait.ts";
import { configMap, deployment, member, useHands } from "./hands-world.ts";

// What the operator takes to be as the release wishes it, beside what the API server does with an apply.

const cluster = useCluster();
const world = useHands(cluster);

/** The few places of a Deployment in which two manifests of this test differ; undefined: the field is left out. */
const someParts = fc.record(
  {
    replicas: fc.option(fc.constantFrom(1, 2), { nil: undefined }),
    image: fc.constantFrom("registry.example/app:1", "registry.example/app:2"),
    args: fc.option(fc.constantFrom([], ["a"], ["a", "b"], ["b", "a"]), { nil: undefined }),
    env: fc.shuffledSubarray(["A", "B", "C"]),
    ports: fc.constantFrom(
      [],
      [{ containerPort: 80 }],
      [{ containerPort: 80, protocol: "TCP" }],
      [{ containerPort: 80, name: "http" }, { containerPort: 81 }],
    ),
    cpu: fc.constantFrom("100m", "0.1", "1"),
    label: fc.option(fc.constantFrom("x", "y"), { nil: undefined }),
    volumes: fc.constantFrom([], [{ name: "v", emptyDir: {} }]),
  },
  { noNullPrototype: true },
);
type Parts = typeof someParts extends fc.Arbitrary<infer T> ? T : never;

function manifestOf(namespace: string, { label, replicas, volumes, env, ...parts }: Parts): ReleaseManifest {
  const { args, image, ports, cpu } = parts;
  const base = member(deployment(namespace, "api")).manifest as unknown as {
    readonly metadata: { readonly labels: object };
    readonly spec: {
      readonly template: { readonly metadata: object; readonly spec: { containers: readonly object[] } };
    };
  };
  const { replicas: _one, ...spec } = base.spec as Record<string, unknown> & typeof base.spec;
  const [container] = spec.template.spec.containers;
  const own = {
    ...{ ...container, image, ...(args && { args }), resources: { requests: { cpu } } },
    ...(env.length > 0 && { env: env.map((name) => ({ name, value: "1" })) }),
    ...(ports.length > 0 && { ports }),
  };
  const pod = { ...spec.template.spec, containers: [own], ...(volumes.length > 0 && { volumes }) };
  return {
    ...base,
    metadata: { ...base.metadata, labels: { ...base.metadata.labels, ...(label !== undefined && { label }) } },
    spec: { ...spec, ...(replicas !== undefined && { replicas }), template: { ...spec.template, spec: pod } },
  } as unknown as ReleaseManifest;
}

test("property: what is taken to be as wished is left as it is by an apply, and by no other hand", async () => {
  const shop = await world.namespace();
  const path = `/apis/apps/v1/namespaces/${shop}/deployments/api`;
  const seen = { same: 0, other: 0, found: 0 };
  const one = async (before: Parts, theirs: Parts | undefined, after: Parts): Promise<void> => {
    await world.send("DELETE", path).catch(() => undefined);
    await world.change(manifestOf(shop, before), RELEASE_FIELD_MANAGER);
    if (theirs !== undefined) await world.change(manifestOf(shop, theirs));
    const live = (await world.read(manifestOf(shop, before))) as unknown as LiveObject;
    const wished = manifestOf(shop, after);
    const applied = await world
      .send("PATCH", `${path}?dryRun=All&fieldManager=${RELEASE_FIELD_MANAGER}`, wished, "application/apply-patch+yaml")
      .then((answer) => answer as LiveObject)
      .catch(() => undefined);
    const isLeft =
      applied !== undefined &&
      differences(live, applied).length === 0 &&
      isDeepStrictEqual(live.metadata.managedFields, applied.metadata.managedFields);
    seen[isLeft ? "same" : "other"] += 1;
    if (!isAsWished(wished, live)) return;
    seen.found += 1;
    expect(isLeft, JSON.stringify({ before, theirs, after })).toBe(true);
  };
  const plain: Parts = {
    ...{ replicas: undefined, args: undefined, label: undefined },
    ...{ image: "registry.example/app:1", env: ["A"], ports: [], cpu: "1", volumes: [] },
  };
  await one(plain, undefined, plain);
  await one(plain, undefined, { ...plain, image: "registry.example/app:2" });
  expect(seen).toEqual({ same: 1, other: 1, found: 1 });
  const someone = fc.option(someParts, { nil: undefined, freq: 2 });
  const somePart = fc.constantFrom<(keyof Parts)[]>("replicas", "image", "args", "env", "ports", "label", "volumes");
  await fc.assert(
    fc.asyncProperty(someParts, someone, someParts, somePart, async (before, theirs, after, part) => {
      await one(before, theirs, before);
      await one(before, theirs, { ...before, [part]: after[part] });
    }),
    { numRuns: runs(60) },
  );
  // Not each: a value that the API server spells in its own way is left to it.
  if (isFull) expect([seen.other > 20, seen.found > 5], JSON.stringify(seen)).toEqual([true, true]);
}, 300_000);

test("a plan tries out no object that is as wished", async () => {
  const shop = await world.namespace();
  const objects = [member(deployment(shop, "api")), member(configMap(shop, "settings", { a: "1" }))];
  const install = await world.intent("install", { objects, namespaces: [shop] });
  expect((await (await world.hands()).apply(install, 0, world.until(), signal())).failures).toEqual([]);
  const tried: string[] = [];
  const hands = await world.hands({
    before: async ({ method, path }) => {
      if (method === "PATCH" && path.includes("dryRun")) tried.push(path.replace(/\?.*/, ""));
    },
  });
  const again = await world.intent("update", { objects, former: objects, namespaces: [shop] });
  expect(await hands.plan(again, signal())).toMatchObject({ problems: [], plan: { unchanged: 2, change: 0 } });
  expect(tried.filter((path) => /\/(api|settings)$/.test(path))).toEqual([]);
  const changed = [member(deployment(shop, "api", { image: "registry.example/app:2" })), ...objects.slice(1)];
  const update = await world.intent("update", { objects: changed, former: objects, namespaces: [shop] });
  expect((await hands.plan(update, signal())).plan).toMatchObject({ unchanged: 1, change: 1 });
  expect(tried.filter((path) => /\/(api|settings)$/.test(path))).toEqual([
    `/apis/apps/v1/namespaces/${shop}/deployments/api`,
  ]);
});
