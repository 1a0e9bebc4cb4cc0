import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import type { ReleaseManifest, ReleaseObject } from "../../../src/crds/kinds/release-content.ts";
import { APPLYSET_LABEL } from "../../../src/crds/release-names.ts";
import type { RolloutHands } from "../../../src/operator/rollouts/hands/hands.ts";
import { eventually, signal } from "../../world/wait.ts";
import { configMap, member, useHands } from "./hands-world.ts";

// Another program that applies and prunes sets of objects by KEP-3659 is given the same contents: kubectl.

const cluster = useCluster({ controllers: true });
const world = useHands(cluster);

const SET = "oracle-set";
const RUNS = 6;
const KINDS = ["configmaps", "serviceaccounts", "services", "deployments"] as const;
type Kinds = (typeof KINDS)[number];
const PATHS: Readonly<Record<Kinds, string>> = {
  configmaps: "/api/v1",
  serviceaccounts: "/api/v1",
  services: "/api/v1",
  deployments: "/apis/apps/v1",
};
/** Objects that the cluster, or kubectl for its set, puts into each namespace. */
const NOT_OF_THE_CONTENT = ["kube-root-ca.crt", "default", SET];
/** Of each object alone, or of who made it. */
const OWN = ["uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace"];
/** Given out by the API server, to each Service another. */
const GIVEN_OUT = ["clusterIP", "clusterIPs"];
/** Counted by a controller, which may see two changes as one. */
const REVISION = "deployment.kubernetes.io/revision";

/** One content of a release; what is undefined is not in it. */
interface Content {
  readonly settings: Readonly<Record<string, string>>;
  readonly extra: Readonly<Record<string, string>> | undefined;
  readonly account: { readonly note: string | undefined } | undefined;
  readonly service: readonly number[] | undefined;
  readonly api: Api | undefined;
  readonly worker: Api | undefined;
}

interface Api {
  readonly image: string;
  readonly replicas: number | undefined;
  readonly env: readonly string[];
  readonly ports: readonly number[];
  readonly grace: number | undefined;
  readonly sidecar: boolean;
}

const data = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.constantFrom("1", "2"), { maxKeys: 3 });
const ports = fc.subarray([80, 81, 82]);
const api: fc.Arbitrary<Api> = fc.record({
  image: fc.constantFrom("registry.example/app:1", "registry.example/app:2"),
  replicas: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }),
  env: fc.subarray(["ONE", "TWO", "THREE"]),
  ports,
  grace: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  sidecar: fc.boolean(),
});
const content: fc.Arbitrary<Content> = fc.record({
  settings: data,
  extra: fc.option(data, { nil: undefined }),
  account: fc.option(fc.record({ note: fc.option(fc.constantFrom("x", "y"), { nil: undefined }) }), { nil: undefined }),
  service: fc.option(fc.subarray([80, 81, 82], { minLength: 1 }), { nil: undefined }),
  api: fc.option(api, { nil: undefined }),
  worker: fc.option(api, { nil: undefined }),
});
/** A content, and what the customer adds to the ConfigMap that is in each of them before the next. */
const step = fc.record({ content, theirs: fc.option(fc.constantFrom("1", "2"), { nil: undefined }) });

function manifestsOf(namespace: string, { settings, extra, account, service, api, worker }: Content) {
  const at = (name: string) => ({ name, namespace });
  const manifests: ReleaseManifest[] = [configMap(namespace, "settings", settings)];
  if (extra !== undefined) manifests.push(configMap(namespace, "extra", extra));
  if (account !== undefined) {
    const labels = account.note === undefined ? {} : { labels: { note: account.note } };
    manifests.push({ apiVersion: "v1", kind: "ServiceAccount", metadata: { ...at("runner"), ...labels } });
  }
  if (service !== undefined) {
    const spec = {
      selector: { app: "api" },
      ports: service.map((port) => ({ name: `p${port}`, port })),
    };
    manifests.push({ apiVersion: "v1", kind: "Service", metadata: at("api"), spec });
  }
  for (const [name, each] of [
    ["api", api],
    ["worker", worker],
  ] as const) {
    if (each !== undefined) manifests.push(deploymentOf(at(name), each, account !== undefined));
  }
  return manifests;
}

function deploymentOf(metadata: ReleaseManifest["metadata"], each: Api, hasAccount: boolean): ReleaseManifest {
  const labels = { app: metadata.name };
  const { image, replicas, env, ports, grace, sidecar } = each;
  const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
  const main = {
    ...{ name: "main", image, securityContext },
    ...(env.length > 0 && { env: env.map((name) => ({ name, value: image })) }),
    ...(ports.length > 0 && { ports: ports.map((containerPort) => ({ containerPort })) }),
  };
  const pod = {
    automountServiceAccountToken: false,
    ...(hasAccount && { serviceAccountName: "runner" }),
    ...(grace !== undefined && { terminationGracePeriodSeconds: grace }),
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [main, ...(sidecar ? [{ name: "sidecar", image, securityContext }] : [])],
  };
  const spec = {
    ...(replicas !== undefined && { replicas }),
    ...{ selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } },
  };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec };
}

/** Both are given the same labels, but the one by which each knows its own set. */
async function byKubectl(namespace: string, manifests: readonly ReleaseManifest[]): Promise<void> {
  const items = manifests.map((each) => {
    const { [APPLYSET_LABEL]: _, ...labels } = member(each).manifest.metadata.labels ?? {};
    const { manifest } = member(each);
    return { ...manifest, metadata: { ...manifest.metadata, labels } };
  });
  const args = ["apply", "-n", namespace, "--server-side", `--applyset=configmap/${SET}`, "--prune", "-f", "-"];
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const { code, stderr } = await cluster().kubectl(args, { stdin, env: { KUBECTL_APPLYSET: "true" } });
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

async function byHands(
  hands: RolloutHands,
  namespace: string,
  former: readonly ReleaseObject[],
  objects: readonly ReleaseObject[],
): Promise<void> {
  const action = former.length === 0 ? "install" : "update";
  const intent = await world.intent(action, { objects, former, namespaces: [namespace] });
  const { plan, problems } = await hands.plan(intent, signal());
  expect(problems).toEqual([]);
  const applied = await hands.apply(intent, 0, world.until(), signal());
  expect(applied).toMatchObject({ created: plan.create, changed: plan.change, failures: [], overrides: [] });
  const look = () => hands.prune(intent, world.until(), signal());
  expect(await eventually(look, ({ waiting }) => waiting === 0)).toMatchObject({ left: [] });
  await hands.close(intent.rollout, [namespace], signal());
}

type Json = Readonly<Record<string, unknown>>;

/** Everything that was asked for in a namespace, and what the API server has made of it. */
async function state(namespace: string): Promise<readonly string[]> {
  const lists = await Promise.all(
    KINDS.map(async (kind) => {
      const list = (await world.send("GET", `${PATHS[kind]}/namespaces/${namespace}/${kind}`)) as {
        readonly items: readonly (Json & { readonly metadata: Json & { readonly name: string } })[];
      };
      return list.items
        .filter(({ metadata }) => !NOT_OF_THE_CONTENT.includes(metadata.name))
        .map(({ metadata, spec, status: _, ...rest }) => [
          `${kind}/${metadata.name}`,
          rest,
          { ...without(metadata, [...OWN, "labels", "annotations"]) },
          without(metadata.labels, [APPLYSET_LABEL]),
          without(metadata.annotations, [REVISION]),
          kind === "services" ? without(spec, GIVEN_OUT) : spec,
        ]);
    }),
  );
  return lists.flat().map(sorted).toSorted();
}

function without(fields: unknown, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries((fields ?? {}) as Json).filter(([name]) => !names.includes(name)));
}

/** With the keys of maps in one order. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );
}

beforeAll(async () => {
  const { stdout } = await cluster().kubectl(["version", "--client"]);
  process.stdout.write(`the oracle: ${stdout.split("\n", 1)[0]}\n`);
});

test("the same contents one after the other leave what kubectl's server-side apply with a set and prune leaves", async () => {
  let steps = 0;
  const startedMs = performance.now();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 3 }), async (sequence) => {
      const [ours, theirs] = [await world.namespace(), await world.namespace()];
      const hands = await world.hands();
      let former: readonly ReleaseObject[] = [];
      for (const { content, theirs: added } of sequence) {
        steps += 1;
        const objects = manifestsOf(ours, content).map((each) => member(each));
        await Promise.all([byHands(hands, ours, former, objects), byKubectl(theirs, manifestsOf(theirs, content))]);
        former = objects;
        const expected = await eventually(
          () => state(theirs),
          (all) => all.length === objects.length && all.every((each) => !each.includes("deletionTimestamp")),
        );
        expect(await state(ours)).toEqual(expected);
        if (added === undefined) continue;
        for (const each of [ours, theirs]) await world.change(configMap(each, "settings", { theirs: added }));
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
  process.stdout.write(`${steps} contents given to both in ${Math.round(performance.now() - startedMs)} ms\n`);
}, 420_000);
