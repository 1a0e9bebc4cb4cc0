import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ReleaseManifest } from "../../crds/kinds/release-content.ts";
import { conflictsOf, giveWay } from "./give-way.ts";

const deployment: ReleaseManifest = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "api", labels: { "app.kubernetes.io/name": "api", "app.kubernetes.io": "x", team: "one" } },
  spec: {
    replicas: 3,
    template: {
      spec: {
        containers: [
          {
            name: "c",
            image: "app:2",
            ports: [{ containerPort: 80 }, { containerPort: 81, protocol: "UDP" }],
            resources: { limits: { cpu: "1" } },
            args: ["a", "b"],
          },
          { name: 'odd"]name', image: "side:1" },
        ],
        finalizers: ["one", "two"],
      },
    },
  },
};
const CONTAINER = ".spec.template.spec.containers";
const without = (...fields: string[]) =>
  giveWay(
    deployment,
    fields.map((field) => ({ field, manager: "kubectl" })),
  )?.manifest;

interface Container {
  readonly image?: string;
  readonly ports?: readonly object[];
}

/** The pod's spec of what `without` leaves. */
function podWithout(...fields: string[]): { containers: readonly Container[]; finalizers: readonly string[] } {
  const left = without(...fields);
  if (left === undefined) throw new Error(`no field ${fields.join(", ")}`);
  return (left.spec as { template: { spec: ReturnType<typeof podWithout> } }).template.spec;
}
const changed = (change: (copy: typeof deployment & { spec: never }) => void): ReleaseManifest => {
  const copy = structuredClone(deployment);
  change(copy as never);
  return copy;
};

describe("the conflicts of an answer", () => {
  test("are fields with their managers", () => {
    const causes = [
      {
        reason: "FieldManagerConflict",
        message: 'conflict with "kubectl" with subresource "scale" using apps/v1',
        field: ".spec.replicas",
      },
      { reason: "FieldManagerConflict", message: 'conflict with "a \\"b\\"" using apps/v1', field: ".spec.paused" },
      { reason: "FieldValueInvalid", message: "no", field: "spec" },
    ];
    expect(conflictsOf({ body: { details: { causes } } })).toEqual([
      { field: ".spec.replicas", manager: "kubectl" },
      { field: ".spec.paused", manager: 'a "b"' },
    ]);
    expect(conflictsOf({ body: {} })).toEqual([]);
  });
});

describe("giving way", () => {
  test.each<[string, (copy: never) => void]>([
    [".spec.replicas", ({ spec }: { spec: { replicas?: number } }) => Reflect.deleteProperty(spec, "replicas")],
    [
      ".metadata.labels.app.kubernetes.io/name",
      (copy: ReleaseManifest) => Reflect.deleteProperty(copy.metadata.labels ?? {}, "app.kubernetes.io/name"),
    ],
    [
      ".metadata.labels.app.kubernetes.io",
      (copy: ReleaseManifest) => Reflect.deleteProperty(copy.metadata.labels ?? {}, "app.kubernetes.io"),
    ],
  ])("leaves out %s alone", (field, change) => {
    expect(without(field)).toEqual(changed(change as never));
  });

  test("leaves out one container's image, and keeps its name, without which the API server refuses the list", () => {
    const { containers } = podWithout(`${CONTAINER}[name="c"].image`, `${CONTAINER}[name="odd\\"]name"].image`);
    expect(containers[0]).toMatchObject({ name: "c", args: ["a", "b"] });
    expect(containers[0]).not.toHaveProperty("image");
    expect(containers[1]).toEqual({ name: 'odd"]name' });
  });

  test.each([
    ['[containerPort=80,protocol="TCP"]', [{ containerPort: 81, protocol: "UDP" }]],
    ['[containerPort=81,protocol="UDP"]', [{ containerPort: 80 }]],
  ])("finds the element %s, also where the manifest leaves a key to its default", (port, left) => {
    expect(podWithout(`${CONTAINER}[name="c"].ports${port}`).containers[0]?.ports).toEqual(left);
  });

  test("finds elements by value and by place", () => {
    expect(podWithout('.spec.template.spec.finalizers[="one"]').finalizers).toEqual(["two"]);
    expect(podWithout(".spec.template.spec.finalizers[1]").finalizers).toEqual(["one"]);
  });

  test("takes maps away that it leaves empty: an empty one would be a claim on it", () => {
    const manifest = without(`${CONTAINER}[name="c"].resources.limits.cpu`);
    expect(JSON.stringify(manifest)).not.toContain("resources");
  });

  test.each([".spec.paused", `${CONTAINER}[name="x"].image`, "spec", ".spec.replicas.x", `${CONTAINER}[name="c`, ""])(
    "says that there is no field %j",
    (field) => {
      expect(without(field)).toBeUndefined();
    },
  );

  test("changes nothing in the manifest that it was given", () => {
    const before = structuredClone(deployment);
    without(".spec.replicas", `${CONTAINER}[name="c"].image`);
    expect(deployment).toEqual(before);
  });
});

test("of any object exactly the named leaf goes", () => {
  const key = fc.stringMatching(/^[a-z][a-z./]{0,6}$/);
  const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.string());
  const tree = fc.letrec((tie) => ({
    map: fc.dictionary(key, fc.oneof({ depthSize: "small" }, leaf, tie("map")), { minKeys: 1, maxKeys: 4 }),
  })).map;
  fc.assert(
    fc.property(tree, fc.nat(), (spec, pick) => {
      const leaves = [...leavesOf({ spec }, "")];
      const paths = leaves.map(([path]) => path);
      const [path = "", value] = leaves[pick % leaves.length] ?? [];
      // Two leaves of one written path cannot be told apart, by the API server's own words either.
      fc.pre(paths.filter((each) => each === path).length === 1);
      const manifest = { ...deployment, spec } as ReleaseManifest;
      const given = giveWay(manifest, [{ field: path, manager: "m" }]);
      const left = [...leavesOf({ spec: given?.manifest.spec ?? {} }, "")];
      expect(left).toHaveLength(leaves.length - 1);
      expect(left).not.toContainEqual([path, value]);
    }),
  );
});

function* leavesOf(node: unknown, path: string): Generator<readonly [string, unknown]> {
  if (typeof node !== "object" || node === null) yield [path, node];
  else for (const [key, value] of Object.entries(node)) yield* leavesOf(value, `${path}.${key}`);
}
