import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { apiRequest } from "../../../lab/cluster/api-request.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { openReleases } from "../../../src/crds/manifests/installation.ts";
import { fateOf, RELEASE_TYPES } from "../../../src/crds/released/fields/release-fields.ts";
import { READS_NOTHING } from "../../../src/crds/released/may-read.ts";
import { type MayUse, USED_LISTS, USES_NOTHING } from "../../../src/crds/released/may-use.ts";
import { RELEASE_RESOURCES } from "../../../src/crds/released/release-kinds.ts";
import { borrowed } from "../../../src/operator/rollouts/hands/planning/borrowed.ts";
import { RELEASE_KINDS, type ReleaseRules, releaseProblems } from "../../../src/operator/rollouts/release-rules.ts";
import { INSTALLED, namespace } from "../../world/installation.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { REGISTRY, type Released, ROLLOUT_RUN, releasedDeployment } from "../releases/released-objects.ts";
import type { JsonObject } from "./json.ts";
import type { Schema } from "./openapi.ts";
import { badValue, SOUND, withValue } from "./release-objects.ts";
import { compare, isKnown, type Place } from "./release-places.ts";
import { inParallel } from "./requests.ts";

/**
 * The table of what the fields of a release name, against the API server's own OpenAPI document: a field that a later Kubernetes
 * has and the table has not fails here. Then each field that the table says is refused is tried, on operator and API server.
 */

const SCHEMAS: readonly (readonly [string, string])[] = [
  ...["Deployment", "StatefulSet", "DaemonSet"].map((kind) => ["apis/apps/v1", kind] as const),
  ...["Job", "CronJob"].map((kind) => ["apis/batch/v1", kind] as const),
  ...["Service", "ConfigMap", "PersistentVolumeClaim", "ServiceAccount"].map((kind) => ["api/v1", kind] as const),
  ["apis/policy/v1", "PodDisruptionBudget"],
  ["apis/autoscaling/v2", "HorizontalPodAutoscaler"],
  ["apis/autoscaling/v1", "HorizontalPodAutoscaler"],
  ...["Ingress", "NetworkPolicy"].map((kind) => ["apis/networking.k8s.io/v1", kind] as const),
];
const RULES: ReleaseRules = {
  ...{ kinds: RELEASE_KINDS, namespaces: [SHOP], registries: [REGISTRY], mayExpose: true },
  ...{ mayRead: READS_NOTHING, mayUse: USES_NOTHING, maxPods: 100, podSecurity: "restricted" },
};
/** What the API server itself fills in, so that a policy cannot know whose it is; or what it refuses by itself. */
const OPERATOR_ALONE = ["uid", "resourceVersion", "managedFields", "ephemeralContainers"];
/** Behind a feature gate: the API server drops them. */
const DROPPED = ["podCertificate", "schedulingGroup"];
/** Values that the API server takes from nobody, so that it asks no policy. */
const INVALID =
  /ephemeral\.volumeClaimTemplate\.metadata\.|\.(privileged|procMount|hostProcess|azureDisk)$|template\.spec\.resources\.|[sS]elector$/;

const cluster = useCluster({ holds: INSTALLED });
let token = "";
let ca = "";

async function placesOf(path: string, kind: string): Promise<ReturnType<typeof compare>> {
  const { body } = await cluster().request({ path: `/openapi/v3/${path}` });
  const { schemas } = (body as { readonly components: { readonly schemas: Record<string, Schema> } }).components;
  const [group = "core", version = ""] = path.replace("api/v1", "apis/core/v1").split("/").slice(1);
  return compare(schemas, kind, `io.k8s.api.${group.replace(".k8s.io", "")}.${version}.${kind}`);
}

async function tried(object: Released): Promise<{ readonly status: number; readonly words: string }> {
  const group = object.apiVersion.includes("/") ? "apis" : "api";
  const name = object.apiVersion.includes("/") ? `${object.kind}.${object.apiVersion.split("/")[0]}` : object.kind;
  const plural = (RELEASE_RESOURCES as Readonly<Record<string, string>>)[name];
  const path = `/${group}/${object.apiVersion}/namespaces/${SHOP}/${plural}?dryRun=All`;
  const credentials = { server: cluster().server, ca, token };
  const { status, body } = await apiRequest(credentials, { method: "POST", path, body: object }, signal());
  return { status, words: String((body as { readonly message?: string }).message ?? "") };
}

function judged(object: Released, rules: ReleaseRules): readonly string[] {
  const beside = Object.values(SOUND).filter(({ kind }) => kind !== object.kind);
  const lines = [...beside, object].map((manifest) => ({ wave: 0, frozen: false, resourceId: "api", manifest }));
  return releaseProblems(lines, rules)
    .filter(({ ref }) => ref === "" || ref.startsWith(object.kind))
    .map(({ message }) => message);
}

const isTried = ({ types, field }: Place): boolean => {
  const { is } = fateOf(types.at(-1) ?? "", field);
  const isRuled = RELEASE_TYPES[types.at(-1) ?? ""]?.ruled?.includes(field) === true;
  // Services lead out where the customer lets them.
  return (
    is === "refused" ||
    is === "mayUse" ||
    is === "reads" ||
    (isRuled && `${types.at(-1)}.${field}` !== "ServiceSpec.type")
  );
};
const soundOf = (kind: string): Released => {
  const found = Object.values(SOUND).find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`no sound ${kind}`);
  return found;
};
const broken = ({ types, path, field }: Place): Released => {
  const [kind = ""] = types;
  return withValue(
    soundOf(kind) as unknown as JsonObject,
    types,
    path,
    badValue(types.at(-1) ?? "", field),
  ) as unknown as Released;
};

beforeAll(async () => {
  await cluster().apply([...INSTALLED, namespace(SHOP)]);
  await cluster().apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: ROLLOUT_RUN, namespace: GRANTS } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "theirs", namespace: SHOP } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "theirs", namespace: SHOP } },
    {
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "theirs", namespace: SHOP } },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
    {
      ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "careless" } },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: ROLLOUT_RUN, namespace: GRANTS }],
    },
    ...openReleases(undefined, { registries: [REGISTRY], mayExpose: true }),
  ]);
  token = await cluster().serviceAccountToken(GRANTS, ROLLOUT_RUN);
  ca = await readFile(cluster().caFile, "utf8");
  // Each policy that one of the fields needs is in force.
  const volume = (source: JsonObject): JsonObject => ({ volumes: [{ name: "v", ...source }] });
  const pods = [
    ...[{ hostNetwork: true }, { serviceAccountName: "theirs" }, volume({ configMap: { name: "theirs" } })],
    volume({ persistentVolumeClaim: { claimName: "theirs" } }),
  ];
  for (const pod of pods) {
    await eventually(
      () => tried(releasedDeployment("api", pod)),
      ({ status }) => status === 403,
    );
  }
});

test("the table has each field that the API server publishes for an installable kind, and no other", async () => {
  const known = new Set(SCHEMAS.map(([, kind]) => kind));
  expect([...known].toSorted()).toEqual(
    [...new Set(Object.keys(RELEASE_RESOURCES).map((each) => each.split(".")[0]))].toSorted(),
  );
  const all = await Promise.all(SCHEMAS.map(([path, kind]) => placesOf(path, kind)));
  expect(all.flatMap(({ unknown }) => unknown)).toEqual([]);
  expect(all.flatMap(({ odd }) => odd)).toEqual([]);
  const published = new Set(all.flatMap((each) => each.published));
  const listed = Object.entries(RELEASE_TYPES).flatMap(([type, { own, of, refused, ruled, mayUse, reads, shown }]) =>
    [own, refused, ruled, ...[of, mayUse, reads, shown].map((map) => Object.keys(map ?? {}))].flatMap((fields) =>
      (fields ?? []).map((field) => `${type}.${field}`),
    ),
  );
  expect(listed.filter((each) => !published.has(each))).toEqual([]);
  expect(isKnown(RELEASE_TYPES.PodSpec ?? {}, "fromANewerKubernetes")).toBe(false);
});

test("objects of each kind that name nothing are let through", async () => {
  for (const object of Object.values(SOUND)) {
    expect({ ...(await tried(object)), problems: judged(object, RULES) }).toMatchObject({ status: 201, problems: [] });
  }
});

describe.each(SCHEMAS.filter(([path]) => path !== "apis/autoscaling/v1"))("%s %s", (path, kind) => {
  test("each field that may not have each value is refused by operator and API server, wherever it is", async () => {
    const { places } = await placesOf(path, kind);
    const holes: object[] = [];
    await inParallel(places.filter(isTried), 8, async (place) => {
      const object = broken(place);
      const problems = judged(object, RULES);
      const { status, words } = await tried(object);
      const isRefused = status === 403 && words.includes("ValidatingAdmissionPolicy 'sallyport-");
      const at = place.path.join(".");
      const isAlone = [...OPERATOR_ALONE, ...DROPPED].includes(place.field) || (status === 422 && INVALID.test(at));
      if (problems.length === 0 || !(isRefused || isAlone)) {
        holes.push({ at, problems, status, words: words.slice(0, 300) });
      }
    });
    expect(holes).toEqual([]);
  });

  test("what is shown has a line in the plan, wherever it is", async () => {
    const { places } = await placesOf(path, kind);
    const shown = places.filter(({ types, field }) => fateOf(types.at(-1) ?? "", field).is === "shown");
    const silent = shown.filter(({ types, path: at }) => {
      const object = withValue(soundOf(kind) as unknown as JsonObject, types, at, "probe-1") as unknown as Released;
      return !borrowed([{ manifest: object }], []).named.some(([line]) => line.includes("probe-1"));
    });
    expect(silent.map(({ path: at }) => at.join("."))).toEqual([]);
  });
});

test("what the customer names is let through by both, and has a line in the plan", async () => {
  const mayUse = Object.fromEntries(
    USED_LISTS.map((list) => [
      list,
      ["annotations", "labels", "extendedResources"].includes(list) ? ["customers.example/*"] : ["theirs"],
    ]),
  ) as unknown as MayUse;
  await cluster().apply(openReleases(undefined, { registries: [REGISTRY], mayExpose: true, mayUse }));
  const { places } = await placesOf("apis/apps/v1", "Deployment");
  const used = places.filter(({ types, field }) => fateOf(types.at(-1) ?? "", field).is === "mayUse");
  expect(used.length).toBeGreaterThan(10);
  for (const place of used) {
    const object = broken(place);
    expect([place.path, judged(object, { ...RULES, mayUse })]).toEqual([place.path, []]);
    await eventually(
      () => tried(object),
      ({ status }) => status === 201 || (status === 422 && INVALID.test(place.path.join("."))),
    );
    expect(borrowed([{ manifest: object }], []).named.length).toBeGreaterThan(0);
  }
});
