import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { runs } from "../../../src/base/testing/runs.ts";
import type { ReleaseManifest } from "../../../src/crds/kinds/release-content.ts";
import type { Status } from "../../../src/kube/client/api-error.ts";
import { conflictsOf, giveWay, type Override } from "../../../src/operator/rollouts/give-way.ts";
import { namespace } from "../../world/installation.ts";

// The answers of a real API server to a server-side apply that meets fields of others.

const cluster = useCluster();
const SHOP = "shop";

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function apply(manifest: object, manager: string, name: string, force = false): Promise<Answer> {
  const path = `/apis/apps/v1/namespaces/${SHOP}/deployments/${name}?fieldManager=${manager}&force=${force}`;
  return cluster().request({ method: "PATCH", path, body: manifest, contentType: "application/apply-patch+yaml" });
}

beforeAll(() => cluster().apply([namespace(SHOP)]));

interface Choice {
  readonly replicas: number;
  readonly image: string;
  readonly cpu: string;
  readonly level: string;
  readonly team: string;
  readonly grace: number;
}

/** Each field of the choice in a place of another shape: a leaf, an element's leaf, a map's key with dots, a quantity. */
function deployment(name: string, { replicas, image, cpu, level, team, grace }: Partial<Choice>): ReleaseManifest {
  const env = level === undefined ? [] : [{ name: "LEVEL", value: level }];
  const container = {
    ...(image !== undefined && { image }),
    ...(cpu !== undefined && { resources: { limits: { cpu } } }),
    ...(env.length > 0 && { env }),
  };
  const containers = Object.keys(container).length === 0 ? [] : [{ name: "c", ...container }];
  const pod = {
    ...(containers.length > 0 && { containers }),
    ...(grace !== undefined && { terminationGracePeriodSeconds: grace }),
  };
  return {
    ...{ apiVersion: "apps/v1", kind: "Deployment" },
    metadata: { name, ...(team !== undefined && { labels: { "example.com/team": team } }) },
    spec: {
      ...(replicas !== undefined && { replicas }),
      ...(Object.keys(pod).length > 0 && { template: { spec: pod } }),
    },
  };
}

/** What a release applies: the choice, and what no person touches. */
function released(name: string, choice: Choice, version: string): ReleaseManifest {
  const { spec, ...rest } = deployment(name, choice);
  const labels = { app: name };
  const { template } = spec as { template: { spec: object } };
  return {
    ...rest,
    metadata: { ...rest.metadata, annotations: { version } },
    spec: { ...(spec as object), selector: { matchLabels: labels }, template: { metadata: { labels }, ...template } },
  };
}

function read(body: unknown): Choice & { readonly version: string } {
  const { metadata, spec } = body as {
    readonly metadata: { readonly labels: Record<string, string>; readonly annotations: Record<string, string> };
    readonly spec: {
      readonly replicas: number;
      readonly template: {
        readonly spec: {
          readonly terminationGracePeriodSeconds: number;
          readonly containers: readonly {
            readonly image: string;
            readonly resources: { readonly limits: { readonly cpu: string } };
            readonly env: readonly { readonly value: string }[];
          }[];
        };
      };
    };
  };
  const pod = spec.template.spec;
  const [container] = pod.containers;
  return {
    replicas: spec.replicas,
    image: container?.image ?? "",
    cpu: container?.resources.limits.cpu ?? "",
    level: container?.env[0]?.value ?? "",
    team: metadata.labels["example.com/team"] ?? "",
    grace: pod.terminationGracePeriodSeconds,
    version: metadata.annotations.version ?? "",
  };
}

const choice = (tag: string): fc.Arbitrary<Choice> =>
  fc.record({
    replicas: fc.integer({ min: 0, max: 9 }),
    image: fc.constantFrom("a", "b").map((each) => `example.com/${tag}/${each}:1`),
    cpu: fc.constantFrom("1", "2", "3"),
    level: fc.constantFrom("info", "debug").map((each) => `${tag}-${each}`),
    team: fc.constantFrom("one", "two").map((each) => `${tag}-${each}`),
    grace: fc.integer({ min: 1, max: 60 }),
  });

const FIELDS = ["replicas", "image", "cpu", "level", "team", "grace"] as const;

test("what a customer has changed stays, field by field, and everything else of the release is applied", async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      choice("first"),
      choice("second"),
      choice("customer"),
      fc.subarray([...FIELDS]),
      async (first, second, theirs, touched) => {
        const name = `web-${run++}`;
        expect((await apply(released(name, first, "1"), "sallyport", name)).status).toBe(201);
        const taken = Object.fromEntries(touched.map((field) => [field, theirs[field]]));
        const edit = deployment(name, taken);
        if (touched.length > 0) expect((await apply(edit, "customer", name, true)).status).toBe(200);

        const wanted = released(name, second, "2");
        let answer = await apply(wanted, "sallyport", name);
        let overrides: readonly Override[] = [];
        if (answer.status === 409) {
          overrides = conflictsOf({ body: answer.body as Status });
          const given = giveWay(wanted, overrides);
          expect(given).toBeDefined();
          answer = await apply(given?.manifest ?? {}, "sallyport", name);
        }
        expect(answer.status).toBe(200);
        expect(read(answer.body)).toEqual({ ...second, ...taken, version: "2" });
        // A field that both want alike is no override: the API server lets both own it.
        const differing = touched.filter((field) => theirs[field] !== second[field]);
        expect(overrides).toHaveLength(differing.length);
        expect(overrides.every(({ manager }) => manager === "customer")).toBe(true);
      },
    ),
    { numRuns: runs(40) },
  );
});
