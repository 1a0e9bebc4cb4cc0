import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { renderStack } from "../../../src/agent/releases/render/render-stack.ts";
import {
  GOLDEN_CASES,
  type GoldenCase,
  NAMESPACE,
  requestOf,
} from "../../../src/agent/releases/render/testing/golden-cases.ts";
import { someStack } from "../../../src/agent/releases/render/testing/some-stack.ts";
import { runs } from "../../../src/base/testing/runs.ts";
import { contentDigest } from "../../../src/crds/content-digest.ts";
import {
  RELEASE_CONTENT,
  type ReleaseContentSpec,
  type ReleaseObject,
} from "../../../src/crds/kinds/release-content.ts";
import { kindObjects } from "../kind-objects.ts";

// What the renderer makes, before a real API server with Pod Security: nothing is refused, and nothing is warned about.

const cluster = useCluster();
const contents = kindObjects(cluster, [RELEASE_CONTENT]);

beforeAll(() =>
  cluster().apply(
    [NAMESPACE, "shop-jobs"].map((name) => {
      const levels = ["enforce", "warn", "audit"].map((mode) => [`pod-security.kubernetes.io/${mode}`, "restricted"]);
      return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels: Object.fromEntries(levels) } };
    }),
  ),
);

let applied: readonly object[] = [];
afterEach(async () => {
  // Two cases may have a Service of one name, and whether it has an address cannot be changed.
  await kubectl(["delete", "--wait=true", "-f", "-"], applied);
  applied = [];
});

type Said = { readonly code: number; readonly stderr: string; readonly stdout: string };

async function kubectl(args: readonly string[], items: readonly object[]): Promise<Said> {
  return cluster().kubectl(args, { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
}

async function apply(items: readonly object[], ...more: readonly string[]): Promise<readonly string[]> {
  const args = ["apply", "--server-side", "--field-manager=sallyport-release", "--validate=strict", ...more];
  const { code, stderr, stdout } = await kubectl([...args, "-f", "-"], items);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.trim().split("\n");
}

function rendered(given: Omit<GoldenCase, "name">, version = "1.4.0"): readonly ReleaseObject[] {
  const answer = renderStack({ ...requestOf(given), version, releaseId: `rel_${version}` });
  if (!answer.ok) throw new Error(JSON.stringify(answer.problems));
  return answer.objects;
}

interface Pod {
  readonly metadata?: object;
  readonly spec: { readonly volumes?: readonly object[]; readonly [field: string]: unknown };
}
interface Runs {
  readonly template?: Pod;
  readonly jobTemplate?: { readonly spec: { readonly template: Pod } };
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
}

/** The pods of these objects, as their controllers would make them: Pod Security enforces its rules on pods alone. */
function podsOf(objects: readonly ReleaseObject[]): readonly object[] {
  return objects.flatMap(({ manifest }) => {
    const { template, jobTemplate, volumeClaimTemplates = [] } = (manifest.spec ?? {}) as Runs;
    const pod = template ?? jobTemplate?.spec.template;
    if (pod === undefined) return [];
    const claims = volumeClaimTemplates.map(({ metadata: { name } }) => ({
      name,
      persistentVolumeClaim: { claimName: name },
    }));
    const metadata = { ...pod.metadata, name: `${manifest.metadata.name}-pod`, namespace: manifest.metadata.namespace };
    const spec = { ...pod.spec, volumes: [...(pod.spec.volumes ?? []), ...claims] };
    return [{ apiVersion: "v1", kind: "Pod", metadata, spec }];
  });
}

describe.each(GOLDEN_CASES)("$name", ({ name, ...given }) => {
  test("is taken as it is, by a dry run and really; again it changes nothing", async () => {
    const objects = rendered(given);
    applied = objects.map(({ manifest }) => manifest);
    await apply(applied, "--dry-run=server");
    await apply(applied);
    const read = async () => {
      const { stdout } = await kubectl(["get", "-o", "json", "-f", "-"], applied);
      const { items = [] } = JSON.parse(stdout) as { readonly items?: readonly { readonly metadata: object }[] };
      return items.map(({ metadata }) => metadata as { readonly resourceVersion: string });
    };
    const before = await read();
    expect(before).toHaveLength(objects.length);
    await apply(applied);
    expect(await read()).toEqual(before);

    await apply(podsOf(objects), "--dry-run=server");
  });

  test("goes over to the next version: nothing that is immutable has changed", async () => {
    applied = rendered(given).map(({ manifest }) => manifest);
    await apply(applied);
    const next = rendered(given, "1.5.0").map(({ manifest }) => manifest);
    await apply(next);
    expect(next).not.toEqual(applied);
  });

  test("has the same digest when the content is read again", async () => {
    const objects = rendered(given);
    const digest = contentDigest(objects);
    const ids = { deploymentId: "dep_1", version: "1.4.0", configHash: "c".repeat(64) };
    const created = await contents.create(RELEASE_CONTENT, name, { ...ids, digest, objects });
    expect(created).toEqual({ status: 201, message: "" });
    const path = `/apis/sallyport.dev/v1alpha1/namespaces/sallyport-grants/releasecontents/${name}`;
    const { spec } = (await cluster().request({ path })).body as { readonly spec: ReleaseContentSpec };
    expect(contentDigest(spec.objects)).toBe(digest);
  });
});

test("property: any container, worker and daemon is taken by a dry run", async () => {
  await fc.assert(
    fc.asyncProperty(someStack, async ({ resources, ...rest }) => {
      const ofType = (id: string) => (resources[id] as { readonly config: { readonly type: string } }).config.type;
      const objects = rendered({ resources, ...rest }).filter(({ resourceId }) => ofType(resourceId) !== "manifests");
      fc.pre(objects.length > 0);
      await apply(
        objects.map(({ manifest }) => manifest),
        "--dry-run=server",
      );
    }),
    { numRuns: runs(25) },
  );
});

test("Pod Security is in force: the same pod with no word about its user is refused", async () => {
  const [first] = GOLDEN_CASES;
  const objects = first === undefined ? [] : rendered(first);
  applied = objects.map(({ manifest }) => manifest);
  await apply(applied);
  const [pod] = podsOf(objects) as readonly { readonly spec: object }[];
  const loose = { ...pod, spec: { ...pod?.spec, securityContext: {} } };
  const { code, stderr } = await kubectl(["apply", "--server-side", "--dry-run=server", "-f", "-"], [loose]);
  expect(code).not.toBe(0);
  expect(stderr).toContain('violates PodSecurity "restricted');
});
