import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { ReleaseSecrets } from "../../../src/agent/releases/release-secrets.ts";
import { type Rendered, renderStack } from "../../../src/agent/releases/render/render-stack.ts";
import { silentLogger } from "../../../src/base/log.ts";
import { DEFAULT_NAMES, RELEASES_NAMESPACE } from "../../../src/crds/group.ts";
import { installation, openReleases } from "../../../src/crds/manifests/installation.ts";
import { applySetId, rolloutAccount } from "../../../src/crds/release-names.ts";
import { NONCE_KEY, RELEASE_SECRET_PREFIX } from "../../../src/crds/release-secret.ts";
import { READS_NOTHING } from "../../../src/crds/released/may-read.ts";
import type { ObjectMeta } from "../../../src/kube/objects/resource.ts";
import type { ClusterHands } from "../../../src/operator/rollouts/hands/cluster-hands.ts";
import type { Intent } from "../../../src/operator/rollouts/hands/hands.ts";
import { releaseSecretNames } from "../../../src/operator/rollouts/hands/release-secret-names.ts";
import { GRANTS, People } from "../../world/people.ts";
import { signal } from "../../world/wait.ts";
import { SECRET_ATTACKS, SECRET_PASSAGES, type Who } from "../admission/secret-attacks.ts";
import { setSecretScene } from "../admission/secret-scene.ts";
import { inForce, testPassages, testRefusals, useTyping } from "../attacks.ts";
import { useHands } from "./hands-world.ts";

// The agent's half and the operator's half of a secret value, with the roles and policies that an installation has.

const cluster = useCluster({ controllers: true, kwok: { nodes: 1 } });
const world = useHands(cluster);
const { systemNamespace, agentAccount } = DEFAULT_NAMES;
const CANARY = "canary-4f7d0a";
// What releases may read is wide: of two policies that refuse, the API server names one.
const mayRead = { ...READS_NOTHING, secrets: [`${RELEASE_SECRET_PREFIX}*`] };
const RELEASES = openReleases(undefined, { secrets: true, mayRead });
let people: People;
let agent: ReleaseSecrets;

beforeAll(async () => {
  await cluster().apply([...installation().rbac, ...RELEASES]);
  people = new People(cluster());
  const of = { namespace: systemNamespace, releasesNamespace: RELEASES_NAMESPACE, fence: () => undefined };
  agent = new ReleaseSecrets({ ...of, client: await people.account(agentAccount), log: silentLogger });
});
afterAll(() => people?.close());

type Made = Extract<Rendered, { ok: true }>;

/** As the agent does it: the Secret first, and what names it. */
async function release(shop: string, value: string): Promise<Made> {
  const resources = {
    web: {
      ...{ dependencies: [], lifecycle: "live" },
      config: { id: "web", type: "worker", image: "registry.example/web:1" },
    },
  };
  const variables = [{ name: "DB_PASSWORD", value, type: "secret" }];
  const rendered = renderStack({
    stack: { id: "shop", resources },
    config: { environmentVariables: { variables }, inputValues: {}, externalBindings: {} },
    ...{ deploymentId: "dep_1", releaseId: "rel_1", version: "1", grantsNamespace: GRANTS, namespaces: [shop] },
    secretSalt: await agent.salt(signal()),
  });
  if (!rendered.ok || rendered.secret === undefined) throw new Error(JSON.stringify(rendered));
  expect(await agent.make(rendered.secret, "dep_1", signal())).toBeUndefined();
  return rendered;
}

const nameOf = ({ secret }: Made): string => secret?.name ?? "";
const secretsIn = async (namespace: string): Promise<readonly string[]> => {
  const { stdout } = await cluster().kubectl(["get", "secrets", "-n", namespace, "-o", "name"]);
  return stdout
    .split("\n")
    .filter((line) => line.includes(`/${RELEASE_SECRET_PREFIX}`))
    .map((line) => line.slice(7));
};
const hands = (): Promise<ClusterHands> => world.hands({}, RELEASES_NAMESPACE);

async function applied(intent: Intent): Promise<void> {
  const by = await hands();
  for (const wave of new Set(intent.objects.map((line) => line.wave))) {
    expect((await by.apply(intent, wave, world.until(), signal())).failures).toEqual([]);
  }
}

async function may(account: string, verb: string, namespace: string): Promise<string> {
  const spec = {
    user: `system:serviceaccount:${account}`,
    resourceAttributes: { verb, namespace, resource: "secrets" },
  };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${account.split(":")[0]}`, "system:authenticated"];
  const { status, body } = await cluster().request({ method: "POST", path, body: { spec: { ...spec, groups } } });
  expect(status).toBe(201);
  return (body as { readonly status: { readonly allowed: boolean } }).status.allowed ? "yes" : "no";
}

test("a value reaches the pods' namespace, is shown by its name alone, and is in no other object", async () => {
  const shop = await world.namespace();
  const made = await release(shop, CANARY);
  // Again, as after a restart: the agent cannot look.
  await release(shop, CANARY);
  const intent = await world.intent("install", { objects: made.objects, namespaces: [shop] });
  const { plan, problems } = await (await hands()).plan(intent, signal());
  expect(problems).toEqual([]);
  expect(plan.changes?.[0]).toBe(`copy Secret/${shop}/${nameOf(made)} with DB_PASSWORD`);
  expect(plan.changes?.join()).not.toContain("which the release does not bring");
  expect(await secretsIn(shop)).toEqual([]);
  await applied(intent);
  await applied(intent);
  const copy = await world.read({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: nameOf(made), namespace: shop },
  });
  expect(copy).toMatchObject({
    ...{ immutable: true, type: "Opaque", data: { DB_PASSWORD: Buffer.from(CANARY).toString("base64") } },
    metadata: { labels: { "sallyport.dev/deployment-id": "dep_1", "app.kubernetes.io/managed-by": "sallyport" } },
  });
  expect(Object.keys(copy?.data ?? {})).not.toContain(NONCE_KEY);
  const { stdout: kinds } = await cluster().kubectl(["api-resources", "--verbs=list", "-o", "name"]);
  const others = kinds.split("\n").filter((kind) => kind !== "" && kind !== "secrets");
  const { stdout: all } = await cluster().kubectl([
    "get",
    others.join(","),
    "-A",
    "-o",
    "json",
    "--show-managed-fields",
  ]);
  expect(all).toContain(nameOf(made));
  expect(all).toContain('"kind": "Event"');
  for (const form of [CANARY, Buffer.from(CANARY).toString("base64")]) expect(all).not.toContain(form);
});

test("another value is another Secret; the old one goes with the next release, and comes again on the way back", async () => {
  const shop = await world.namespace();
  const [one, two] = [await release(shop, "one"), await release(shop, "two")];
  expect(nameOf(one)).not.toBe(nameOf(two));
  await applied(await world.intent("install", { objects: one.objects, namespaces: [shop] }));
  const update = await world.intent("update", { objects: two.objects, former: one.objects, namespaces: [shop] });
  await applied(update);
  expect((await secretsIn(shop)).toSorted()).toEqual([nameOf(one), nameOf(two)].toSorted());
  expect(await (await hands()).prune(update, world.until(), signal())).toEqual({ deleted: 1, waiting: 0, left: [] });
  expect(await secretsIn(shop)).toEqual([nameOf(two)]);
  await applied(await world.intent("update", { objects: one.objects, former: two.objects, namespaces: [shop] }));
  expect((await secretsIn(shop)).toSorted()).toEqual([nameOf(one), nameOf(two)].toSorted());
});

describe("a Secret that another hand has put under the name beforehand", () => {
  const there = async (shop: string, made: Made, labels: object): Promise<void> => {
    const data = { DB_PASSWORD: Buffer.from("poison").toString("base64") };
    const metadata = { name: nameOf(made), namespace: shop, labels };
    await cluster().apply([{ apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data }]);
  };
  const copyIn = (shop: string, made: Made) =>
    world.read({ apiVersion: "v1", kind: "Secret", metadata: { name: nameOf(made), namespace: shop } });
  const value = (text: string) => Buffer.from(text).toString("base64");
  const ours = {
    "sallyport.dev/deployment-id": "dep_1",
    "applyset.kubernetes.io/part-of": applySetId("dep-1", GRANTS),
  };

  test("is replaced once, also after a crash in between; a copy of the installed content stays", async () => {
    const shop = await world.namespace();
    const made = await release(shop, "five");
    await there(shop, made, ours);
    const intent = await world.intent("install", { objects: made.objects, namespaces: [shop] });
    expect((await (await hands()).plan(intent, signal())).problems).toEqual([]);
    let posts = 0;
    const before = async ({ method, path }: { method: string; path: string }): Promise<void> => {
      if (method !== "POST" || !path.includes(`/${shop}/secrets`)) return;
      posts += 1;
      if (posts === 2) throw new Error("crashed");
    };
    const crashing = await world.hands({ before }, RELEASES_NAMESPACE);
    const wave = Math.min(...made.objects.map((line) => line.wave));
    await crashing.apply(intent, wave, world.until(), signal()).catch(() => undefined);
    expect([posts, await copyIn(shop, made)]).toEqual([2, undefined]);
    const by = await hands();
    expect((await by.apply(intent, wave, world.until(), signal())).failures).toEqual([]);
    const copy = await copyIn(shop, made);
    expect(copy?.data).toEqual({ DB_PASSWORD: value("five") });
    expect((await by.apply(intent, wave, world.until(), signal())).failures).toEqual([]);
    await applied(
      await world.intent("update", { ...{ objects: made.objects, former: made.objects }, namespaces: [shop] }),
    );
    expect((await copyIn(shop, made))?.metadata.uid).toBe(copy?.metadata.uid);

    const other = await world.namespace();
    const again = await release(other, "six");
    await there(other, again, ours);
    await applied(await world.intent("install", { objects: again.objects, namespaces: [other] }));
    expect((await copyIn(other, again))?.data).toEqual({ DB_PASSWORD: value("six") });
  }, 60_000);

  test("is not deleted without the deployment's labels: the plan says so, and nothing is applied", async () => {
    const shop = await world.namespace();
    const made = await release(shop, "seven");
    await there(shop, made, {});
    const intent = await world.intent("install", { objects: made.objects, namespaces: [shop] });
    const by = await hands();
    const ref = `Secret/${shop}/${nameOf(made)}`;
    const words = "a Secret of this name is there that no release has made, and it may not be deleted: 403 Forbidden";
    expect((await by.plan(intent, signal())).problems).toEqual([{ ref, message: words }]);
    const { failures } = await by.apply(intent, made.objects[0]?.wave ?? 0, world.until(), signal());
    expect(failures).toEqual([{ ref, message: "the Secret was not made: 403 Forbidden", isTemporary: false }]);
    expect((await copyIn(shop, made))?.data).toEqual({ DB_PASSWORD: value("poison") });
  });
});

test("a deletion takes the copy with it, a detachment leaves it, and what the agent left stays for the retention", async () => {
  const shop = await world.namespace();
  const made = await release(shop, "three");
  await applied(await world.intent("install", { objects: made.objects, namespaces: [shop] }));
  const detach = await world.intent("detach", { former: made.objects, namespaces: [shop] });
  expect((await (await hands()).detach(detach, world.until(), signal())).failures).toEqual([]);
  expect(await secretsIn(shop)).toEqual([nameOf(made)]);
  const deletion = await world.intent("delete", { former: made.objects, namespaces: [shop] });
  await (await hands()).prune(deletion, world.until(), signal());
  // The objects are the customer's since the detachment and stay, and so does what they read.
  expect(await secretsIn(shop)).toEqual([nameOf(made)]);
  const other = await world.namespace();
  const again = await release(other, "four");
  await applied(await world.intent("install", { objects: again.objects, namespaces: [other] }));
  const gone = await world.intent("delete", { former: again.objects, namespaces: [other] });
  for (let left = 1; left > 0; ) ({ waiting: left } = await (await hands()).prune(gone, world.until(), signal()));
  expect(await secretsIn(other)).toEqual([]);
  const listed: ObjectMeta[] = [];
  for await (const page of releaseSecretNames(await people.admin(), RELEASES_NAMESPACE, signal())) {
    listed.push(...page.map(({ metadata }) => metadata));
  }
  expect(listed.map(({ name }) => name)).toContain(nameOf(again));
  expect(JSON.stringify(listed)).not.toContain(Buffer.from("four").toString("base64"));
});

describe("a plan is refused", () => {
  const problemsOf = async (made: Made, shop: string, by = hands()) => {
    const intent = await world.intent("install", { objects: made.objects, namespaces: [shop] });
    return (await (await by).plan(intent, signal())).problems.map(({ message }) => message);
  };
  const place = (made: Made) => `/api/v1/namespaces/${RELEASES_NAMESPACE}/secrets/${nameOf(made)}`;

  test("when the values are gone, until the release is asked for again", async () => {
    const shop = await world.namespace();
    const made = await release(shop, "gone");
    await world.send("DELETE", place(made));
    expect(await problemsOf(made, shop)).toEqual([expect.stringContaining("not there any more")]);
    await release(shop, "gone");
    expect(await problemsOf(made, shop)).toEqual([]);
  });

  test("when another has put other values under the name", async () => {
    const shop = await world.namespace();
    const made = await release(shop, "theirs");
    const there = (await world.send("GET", place(made))) as {
      data: Record<string, string>;
      metadata: { labels: object };
    };
    await world.send("DELETE", place(made));
    const metadata = { name: nameOf(made), labels: there.metadata.labels };
    const data = { ...there.data, DB_PASSWORD: Buffer.from("poison").toString("base64") };
    await world.send("POST", `/api/v1/namespaces/${RELEASES_NAMESPACE}/secrets`, { metadata, data, type: "Opaque" });
    // The agent takes what is there for its own: it may not look.
    await release(shop, "theirs");
    expect(await problemsOf(made, shop)).toEqual([expect.stringContaining("not those that its name stands for")]);
    await world.send("DELETE", place(made));
  });

  test("when the customer lets releases bring none", async () => {
    const shop = await world.namespace();
    expect(await problemsOf(await release(shop, "off"), shop, world.hands())).toEqual([
      expect.stringContaining("releases.secrets"),
    ]);
  });
});

test("neither the agent nor the accounts of a rollout may read a Secret, anywhere", async () => {
  const shop = await world.namespace();
  const made = await release(shop, "rights");
  const intent = await world.intent("install", { objects: made.objects, namespaces: [shop] });
  await applied(intent);
  const account = `${GRANTS}:${rolloutAccount(intent.rollout)}`;
  const ofAgent = `${systemNamespace}:${agentAccount}`;
  for (const verb of ["get", "list", "watch", "patch", "update", "deletecollection"]) {
    for (const namespace of [shop, RELEASES_NAMESPACE, "kube-system"]) {
      expect([verb, namespace, await may(account, verb, namespace)]).toEqual([verb, namespace, "no"]);
      expect([verb, namespace, await may(ofAgent, verb, namespace)]).toEqual([verb, namespace, "no"]);
    }
  }
  expect(await may(account, "create", shop)).toBe("yes");
  expect(await may(account, "create", RELEASES_NAMESPACE)).toBe("no");
  expect(await may(ofAgent, "create", RELEASES_NAMESPACE)).toBe("yes");
  expect(await may(ofAgent, "create", shop)).toBe("no");
  const ofOperator = `${systemNamespace}:${DEFAULT_NAMES.operatorAccount}`;
  expect(await may(ofOperator, "get", RELEASES_NAMESPACE)).toBe("yes");
  expect(await may(ofOperator, "get", shop)).toBe("no");
  expect(await may(ofOperator, "create", RELEASES_NAMESPACE)).toBe("no");
});

describe("a stolen account with every right", () => {
  const kubeconfigs: Partial<Record<Who, string>> = {};
  const attacked = { cluster, kubeconfigs };
  const typing = useTyping<Who>(attacked);

  beforeAll(async () => {
    Object.assign(kubeconfigs, await setSecretScene(cluster()));
    await inForce(SECRET_ATTACKS, typing);
  });

  testRefusals(SECRET_ATTACKS, attacked, typing);
  testPassages(
    SECRET_PASSAGES.map((passage) => ({ ...passage, title: `goes through: ${passage.title}` })),
    typing,
  );
});
