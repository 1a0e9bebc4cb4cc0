import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { KeptCluster } from "../../../lab/cluster/kept-cluster.ts";
import { openMachines } from "../../../src/crds/manifests/installation.ts";
import { INSTALLED, WITH_MACHINES } from "../../world/installation.ts";
import { GRANTS } from "../../world/people.ts";
import { signal } from "../../world/wait.ts";

// A test file must find the cluster as if it were the first one, whatever the file before has left.

let kept: KeptCluster;
beforeAll(async () => {
  kept = await KeptCluster.start({ controllers: true }, INSTALLED, signal());
}, 300_000);
afterAll(() => kept?.cluster.stop());

const POLICY = {
  apiVersion: "sallyport.dev/v1alpha1",
  kind: "OperationPolicy",
  metadata: { name: "left", namespace: GRANTS, finalizers: ["example.com/never"] },
  spec: { rules: [] },
};

async function status(path: string, body?: object, method = body === undefined ? "GET" : "POST"): Promise<number> {
  const call = { method, path, ...(body !== undefined && { body }) };
  return (await kept.cluster.request(call, signal())).status;
}

const created = (name: string) => status("/api/v1/namespaces", { metadata: { name } });
const policies = `/apis/sallyport.dev/v1alpha1/namespaces/${GRANTS}/operationpolicies`;
const bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const binding = "sallyport-grant-decisions";

test("what a file leaves goes: finalizers, webhooks and files too", async () => {
  await kept.hold(INSTALLED, signal());
  const { cluster } = kept;
  expect(await created("left")).toBe(201);
  await cluster.apply([POLICY]);
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["namespaces"] };
  const webhook = { name: "left.example.com", rules: [rule], clientConfig: { url: "https://127.0.0.1:1/" } };
  const body = {
    metadata: { name: "left" },
    webhooks: [{ ...webhook, sideEffects: "None", admissionReviewVersions: ["v1"] }],
  };
  expect(await status("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", body)).toBe(201);
  writeFileSync(join(cluster.dir, "left"), "");
  await kept.hold(INSTALLED, signal());
  expect(await status("/api/v1/namespaces/left")).toBe(404);
  expect(await status(`${policies}/left`)).toBe(404);
  expect(await created("next")).toBe(201);
  expect(existsSync(join(cluster.dir, "left"))).toBe(false);
});

test("what a file has changed or deleted returns, and is in force", async () => {
  await kept.hold(INSTALLED, signal());
  const { cluster } = kept;
  expect((await cluster.kubectl(["delete", "validatingadmissionpolicybinding", binding])).code).toBe(0);
  expect((await cluster.kubectl(["delete", "crd", "operationpolicies.sallyport.dev"])).code).toBe(0);
  expect((await cluster.kubectl(["label", "namespace", GRANTS, "left=here"])).code).toBe(0);
  await kept.hold(INSTALLED, signal());
  expect(await status(`${bindings}/${binding}`)).toBe(200);
  expect(await status(policies)).toBe(200);
  const { body } = await cluster.request({ path: `/api/v1/namespaces/${GRANTS}` });
  expect(body).not.toHaveProperty("metadata.labels.left");
});

test("the next file may hold more, less or nothing", async () => {
  await kept.hold(WITH_MACHINES, signal());
  const machines = openMachines().find(({ kind }) => kind === "ValidatingAdmissionPolicyBinding");
  const path = `${bindings}/${machines?.metadata.name}`;
  expect(await status(path)).toBe(200);
  await kept.hold(INSTALLED, signal());
  expect(await status(path)).toBe(404);
  expect(await status(policies)).toBe(200);
  await kept.hold([], signal());
  expect(await status(policies)).toBe(404);
  expect(await status(`/api/v1/namespaces/${GRANTS}`)).toBe(404);
  await kept.hold(WITH_MACHINES, signal());
  expect(await status(path)).toBe(200);
});

test("what is held is applied once, and again when a test asks for it twice", async () => {
  await kept.hold(INSTALLED, signal());
  const { cluster } = kept;
  const revision = async () => ((await cluster.request({ path: bindings })).body as { metadata: object }).metadata;
  await cluster.apply(INSTALLED);
  expect((await cluster.kubectl(["delete", "validatingadmissionpolicybinding", binding])).code).toBe(0);
  const before = await revision();
  await cluster.apply(INSTALLED);
  expect(await revision()).not.toEqual(before);
  expect(await status(`${bindings}/${binding}`)).toBe(200);
});

test("a policy that comes back reads its parameters again", async () => {
  const group = { apiVersion: "admissionregistration.k8s.io/v1", metadata: { name: "open" } };
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["podtemplates"] };
  const held = [
    {
      ...{ ...group, kind: "ValidatingAdmissionPolicy" },
      spec: {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "params.metadata.name != 'closed'" }],
      },
    },
    {
      ...{ ...group, kind: "ValidatingAdmissionPolicyBinding" },
      spec: {
        policyName: "open",
        paramRef: { selector: {}, parameterNotFoundAction: "Allow" },
        validationActions: ["Deny"],
      },
    },
  ];
  const template = { metadata: { name: "a" }, template: { spec: { containers: [{ name: "a", image: "a" }] } } };
  const made = () => status("/api/v1/namespaces/default/podtemplates?dryRun=All", template);
  for (const _round of [1, 2]) {
    await kept.hold(held, signal());
    expect(await made()).toBe(201);
    expect(await status("/api/v1/namespaces/default/configmaps", { metadata: { name: "closed" } })).toBe(201);
    await expect.poll(made).toBe(422);
    await kept.hold([], signal());
    await expect.poll(made).toBe(201);
  }
});
