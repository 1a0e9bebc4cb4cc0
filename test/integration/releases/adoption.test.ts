import { beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import type { ReleaseManifest, ReleaseObject } from "../../../src/crds/kinds/release-content.ts";
import { rolloutObjects } from "../../../src/crds/manifests/admission/release-account-admission.ts";
import { APPLYSET_LABEL, DEPLOYMENT_ID_LABEL, RELEASE_FIELD_MANAGER } from "../../../src/crds/release-names.ts";
import { READS_NOTHING } from "../../../src/crds/released/may-read.ts";
import type { Intent, RolloutHands } from "../../../src/operator/rollouts/hands/hands.ts";
import { backward, type Contents, forward } from "../../../src/operator/rollouts/machine/intent.ts";
import { eventually, signal } from "../../world/wait.ts";
import { configMap, deployment, member, useHands } from "./hands-world.ts";

// What the customer lets a release have that the customer has made, and what the API server itself refuses.

const cluster = useCluster({ controllers: true });
const world = useHands(cluster);
const MEMBERSHIP = [DEPLOYMENT_ID_LABEL, APPLYSET_LABEL];
const NAMED = [
  { kind: "ConfigMap", name: "settings" },
  { kind: "Deployment", name: "api" },
];

beforeAll(() => cluster().apply(rolloutObjects(DEFAULT_NAMES, {})));

/** As a person does, with the file. */
async function applyFile(manifest: ReleaseManifest): Promise<void> {
  const { code, stderr } = await cluster().kubectl(["apply", "-f", "-"], { stdin: JSON.stringify(manifest) });
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

/** The customer's word on each object, by the labels that the plan names, and on the rollout. */
async function letHave(intent: Intent): Promise<Intent> {
  for (const { manifest } of intent.objects.filter(({ manifest: { kind, metadata } }) =>
    NAMED.some((named) => named.kind === kind && named.name === metadata.name),
  )) {
    const { name, namespace = "", labels = {} } = manifest.metadata;
    const given = MEMBERSHIP.map((label) => `${label}=${labels[label]}`);
    const { code, stderr } = await cluster().kubectl(["label", manifest.kind, name, "-n", namespace, ...given]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
  }
  return { ...intent, takeOver: NAMED };
}

const applied = (hands: RolloutHands, intent: Intent) =>
  eventually(
    () => hands.apply(intent, 0, world.until(), signal()),
    ({ failures }) => !failures.some(({ isTemporary }) => isTemporary),
  );

const planned = (hands: RolloutHands, intent: Intent) =>
  eventually(
    () => hands.plan(intent, signal()).catch(() => undefined),
    () => true,
  );

test("an object of the customer is adopted by their word alone: as its file has been, but with the release's fields", async () => {
  const shop = await world.namespace();
  const theirs = deployment(shop, "api", { replicas: 3 });
  const hotfix = { spec: { paused: true, template: { spec: { containers: [{ name: "c", tty: true }] } } } };
  const { apiVersion, kind, metadata } = theirs;
  await applyFile(configMap(shop, "settings", { a: "theirs", file: "1" }));
  await world.change(configMap(shop, "settings", { edited: "1" }));
  // Its selector is immutable: it is the release's only where it fits.
  await applyFile(member(theirs).manifest);
  const labels = MEMBERSHIP.map((label) => `${label}-`);
  expect((await cluster().kubectl(["label", "deployment", "api", "-n", shop, ...labels])).stderr).toBe("");
  await world.change({ apiVersion, kind, metadata, ...hotfix });

  const { spec } = deployment(shop, "api") as unknown as { readonly spec: { readonly replicas?: number } };
  const { replicas: _, ...unscaled } = spec;
  const objects = [
    member(configMap(shop, "settings", { a: "ours", b: "ours" })),
    member({ ...theirs, spec: unscaled } as ReleaseManifest),
  ];
  const hands = await world.hands();
  const asked = await world.intent("install", { objects, namespaces: [shop] });
  const unnamed = await hands.plan(asked, signal());
  expect(unnamed.awaitsTakeOver).toBe(true);
  expect(unnamed.problems.map(({ message }) => message)).toEqual(
    NAMED.map(() => expect.stringMatching(/^NotOurs: .* may be labelled sallyport.dev\/deployment-id=dep_1 applyset/)),
  );

  const intent = await letHave(asked);
  const { plan, problems } = await planned(hands, intent);
  expect(problems).toEqual([]);
  expect(plan).toMatchObject({ create: 0, change: 2 });
  const [settings = "", api = ""] = plan.changes ?? [];
  const later = ", and may delete it when a later release has it no more: ";
  expect(settings).toContain(`adopts ConfigMap/${shop}/settings${later}`);
  expect(api).toContain(`adopts Deployment.apps/${shop}/api${later}`);
  for (const field of [".data.a", ".data.b", ".data.file", ".metadata.labels"]) expect(settings).toContain(field);
  expect(settings).not.toContain(".data.edited");
  expect(api).toContain(".spec.replicas");
  expect(await world.read(configMap(shop, "settings", {}))).toHaveProperty("data.a", "theirs");

  expect(await applied(hands, intent)).toMatchObject({ created: 0, changed: 2, failures: [], overrides: [] });
  const live = await world.read(configMap(shop, "settings", {}));
  expect(live?.data).toEqual({ a: "ours", b: "ours", edited: "1" });
  expect(live?.metadata.annotations ?? {}).toEqual({});
  expect(live?.metadata.labels).toMatchObject({ [DEPLOYMENT_ID_LABEL]: "dep_1" });
  expect(new Set(live?.metadata.managedFields?.map(({ manager }) => manager))).toEqual(
    new Set(["customer", "kubectl-label", RELEASE_FIELD_MANAGER]),
  );
  expect(await world.read(theirs)).toMatchObject({
    spec: { replicas: 1, paused: true, template: { spec: { containers: [{ tty: true }] } } },
  });
  expect(await applied(hands, intent)).toMatchObject({ changed: 0, unchanged: 2, failures: [] });

  // Fields that a later release leaves out go, and without the word in the next rollout so does the object.
  const smaller = [member(configMap(shop, "settings", { b: "ours" }))];
  const next = await world.intent("update", { objects: smaller, former: objects, namespaces: [shop] });
  expect((await hands.plan(next, signal())).plan.changes?.[0]).toBe(`delete Deployment.apps/${shop}/api`);
  expect(await applied(hands, next)).toMatchObject({ changed: 1, failures: [] });
  expect((await world.read(configMap(shop, "settings", {})))?.data).toEqual({ b: "ours", edited: "1" });
});

describe("what the customer has put into an object by another tool than kubectl's file, and would reach the vendor's image", () => {
  /** As Helm, or `kubectl set env`, leaves it: none of it is a field of the release. */
  const adopting = async (pod: object, template: object = {}): Promise<Intent> => {
    const shop = await world.namespace();
    const theirs = member(deployment(shop, "api")).manifest;
    const { apiVersion, kind, metadata } = theirs;
    await world.change(theirs);
    await world.change({ apiVersion, kind, metadata, spec: { template: { ...template, spec: pod } } }, "helm");
    const objects = [member(deployment(shop, "api", { image: "registry.example/vendor:1" }))];
    return { ...(await world.intent("install", { objects, namespaces: [shop] })), takeOver: NAMED };
  };
  const valueFrom = { secretKeyRef: { name: "db-password", key: "p" } };
  const withPassword = { containers: [{ name: "c", env: [{ name: "DB_PASSWORD", valueFrom }] }] };
  const reads = "as it would be then: it reads Secret db-password, which releases.mayRead.secrets does not name";

  test.each<[string, object, object, string]>([
    ["a variable", withPassword, {}, reads],
    ["a pull secret", { imagePullSecrets: [{ name: "db-password" }] }, {}, reads],
    [
      "a role of a cloud, which the policy lets stay",
      {},
      { metadata: { annotations: { "iam.amazonaws.com/role": "admin" } } },
      "as it would be then: annotation iam.amazonaws.com/role is not in releases.mayUse.annotations",
    ],
    [
      "the node's network, which the API server's policy sees in the dry run",
      { hostNetwork: true },
      {},
      "a rollout runs no pod in the node's own network, processes or IPC",
    ],
  ])("is refused in the plan: %s", async (_, pod, template, words) => {
    const intent = await adopting(pod, template);
    const { problems, awaitsTakeOver } = await (await world.hands()).plan(intent, signal());
    expect(problems).toEqual([
      { ref: `Deployment.apps/${intent.namespaces[0]}/api`, message: expect.stringContaining(words) },
    ]);
    expect(awaitsTakeOver).toBe(false);
  });

  test("is named in the plan where releases may read it", async () => {
    const intent = await adopting(withPassword);
    const hands = await world.hands({}, undefined, undefined, { mayRead: { ...READS_NOTHING, secrets: ["db-*"] } });
    const { plan, problems } = await hands.plan(intent, signal());
    expect(problems).toEqual([]);
    expect(plan.changes).toContain(
      `reads Secret ${intent.namespaces[0]}/db-password, which the release does not bring`,
    );
  });
});

test("the way back deletes nothing that the rollout has adopted, and takes what was restored with the labels for its own", async () => {
  const shop = await world.namespace();
  await applyFile(configMap(shop, "settings", { a: "theirs" }));
  const [kept, newer] = ["1", "2"].map((a) => member(configMap(shop, "kept", { a }))) as [ReleaseObject, ReleaseObject];
  const objects = [member(configMap(shop, "settings", { a: "ours" })), member(configMap(shop, "new", {})), newer];
  const { rollout: asked } = await letHave(await world.intent("update", { objects, namespaces: [shop] }));
  const rollout = { ...asked, spec: { ...asked.spec, takeOver: NAMED } };
  const digest = `sha256:${"a".repeat(64)}`;
  const contents: Contents = {
    own: { name: "rel-1", digest, objects },
    former: { name: "rel-0", digest, objects: [kept] },
    ...{ leftovers: [], unfinishedSince: undefined },
  };
  // As a tool for backups does: with the labels, and without a word on who owns the fields.
  const restored = async ({ manifest }: ReleaseObject): Promise<void> => {
    await cluster().kubectl(["delete", "configmap", "kept", "-n", shop, "--ignore-not-found"]);
    await world.change(manifest, "restore");
  };
  const hands = await world.hands();
  await restored(kept);
  const forth = forward(rollout, contents, [shop]);
  expect((await planned(hands, forth))?.problems).toEqual([]);
  expect(await applied(hands, forth)).toMatchObject({ created: 1, failures: [] });
  await restored(newer);
  const back = backward(rollout, contents, [shop]);
  const overrides = [{ ref: `ConfigMap/${shop}/kept`, field: ".data.a", manager: "restore" }];
  expect(await applied(hands, back)).toMatchObject({ created: 0, failures: [], overrides });
  const pruned = await eventually(
    () => hands.prune(back, world.until(), signal()),
    ({ waiting }) => waiting === 0,
  );
  const message = "this rollout was allowed to take it over, and does not delete it";
  expect(pruned).toEqual({ deleted: 1, waiting: 0, left: [{ ref: `ConfigMap/${shop}/settings`, message }] });
  expect(await world.read(configMap(shop, "settings", {}))).toHaveProperty("data", { a: "ours" });
  expect(await world.read(configMap(shop, "new", {}))).toBeUndefined();
  expect(await world.read(kept.manifest)).toHaveProperty("data", { a: "2" });
});

test.each<[string, object, string]>([
  ["another deployment's", { labels: { [DEPLOYMENT_ID_LABEL]: "dep_2" } }, "of deployment dep_2: where that is gone"],
  ["another tool's", { labels: { [APPLYSET_LABEL]: "applyset-x-v1" } }, "it is of another ApplySet"],
  [
    "a controller's",
    { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "OWNER", controller: true }] },
    "a controller owns it",
  ],
])("what is %s is adopted by no word", async (_, more, words) => {
  const shop = await world.namespace();
  const theirs = configMap(shop, "settings", { a: "theirs" });
  await world.change(configMap(shop, "owner", {}));
  const { uid = "" } = (await world.read(configMap(shop, "owner", {})))?.metadata ?? {};
  const metadata = JSON.parse(JSON.stringify({ ...theirs.metadata, ...more }).replace("OWNER", uid));
  await world.change({ ...theirs, metadata });
  const objects = [member(configMap(shop, "settings", { a: "ours" }))];
  const intent = { ...(await world.intent("install", { objects, namespaces: [shop] })), takeOver: NAMED };
  const { problems, awaitsTakeOver } = await (await world.hands()).plan(intent, signal());
  expect(problems).toEqual([{ ref: `ConfigMap/${shop}/settings`, message: expect.stringContaining(words) }]);
  expect(awaitsTakeOver).toBe(false);
});

test.each([
  ["without the labels", false, true],
  ["without takeOver", true, false],
])("one word is not enough, %s", async (_, isLabelled, isNamed) => {
  const shop = await world.namespace();
  await applyFile(configMap(shop, "settings", { a: "theirs" }));
  const objects = [member(configMap(shop, "settings", { a: "ours" }))];
  const asked = await world.intent("install", { objects, namespaces: [shop] });
  const word = isLabelled ? await letHave(asked) : asked;
  const intent = { ...word, takeOver: isNamed ? NAMED : [] };
  const hands = await world.hands();
  expect(await hands.plan(intent, signal())).toMatchObject({ awaitsTakeOver: true });
  const { failures } = await hands.apply(intent, 0, world.until(), signal());
  expect(failures).toMatchObject([{ message: expect.stringContaining("NotOurs"), isTemporary: false }]);
  expect(await world.read(configMap(shop, "settings", {}))).toHaveProperty("data", { a: "theirs" });
});
