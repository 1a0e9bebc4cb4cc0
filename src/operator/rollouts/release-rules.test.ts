import { describe, expect, test } from "vitest";
import type { ReleaseManifest, ReleaseObject } from "../../crds/kinds/release-content.ts";
import { RELEASE_KINDS, type ReleaseRules, refOf, releaseProblems } from "./release-rules.ts";

const RULES: ReleaseRules = { kinds: RELEASE_KINDS, namespaces: ["shop"], registries: [], mayExpose: false };

const line = (manifest: ReleaseManifest): ReleaseObject => ({ wave: 0, frozen: false, resourceId: "api", manifest });

function deployment(pod: object = {}, container: object = {}, metadata: object = {}): ReleaseManifest {
  const containers = [{ name: "c", image: "registry.example/shop/api:2", ...container }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "api", namespace: "shop", ...metadata },
    spec: { template: { spec: { automountServiceAccountToken: false, containers, ...pod } } },
  };
}
const object = (apiVersion: string, kind: string, rest: object = {}): ReleaseManifest => ({
  ...{ apiVersion, kind, metadata: { name: "api", namespace: "shop" } },
  ...rest,
});
const problems = (manifests: readonly ReleaseManifest[], rules: Partial<ReleaseRules> = {}): readonly string[] =>
  releaseProblems(manifests.map(line), { ...RULES, ...rules }).map(({ message }) => message);

test("an object is named by kind, group, namespace and name", () => {
  expect(refOf(deployment())).toBe("Deployment.apps/shop/api");
  expect(refOf(object("v1", "Service"))).toBe("Service/shop/api");
});

test("an ordinary release has no problem", () => {
  const account = object("v1", "ServiceAccount", { metadata: { name: "own", namespace: "shop" } });
  const own = deployment({ serviceAccountName: "own", automountServiceAccountToken: true });
  const job = object("batch/v1", "CronJob", {
    spec: { jobTemplate: { spec: { template: { spec: { automountServiceAccountToken: false, containers: [] } } } } },
  });
  const service = object("v1", "Service", { spec: { type: "ClusterIP", ports: [{ port: 80 }] } });
  expect(problems([account, own, job, service])).toEqual([]);
});

describe("refused is", () => {
  test.each<[string, ReleaseManifest, string]>([
    [
      "a namespace that is not accepted",
      deployment({}, {}, { namespace: "billing" }),
      "not accepted in namespace billing",
    ],
    ["no namespace", deployment({}, {}, { namespace: undefined }), "names no namespace"],
    ["a right", object("rbac.authorization.k8s.io/v1", "RoleBinding"), "no RoleBinding.rbac.authorization.k8s.io"],
    ["a kind of the same name in another group", object("apps.example/v1", "Deployment"), "no Deployment.apps.example"],
    ["a Secret", object("v1", "Secret"), "install no Secret"],
    ["a webhook", object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"), "install no"],
    ["an owner", deployment({}, {}, { ownerReferences: [] }), "metadata.ownerReferences"],
    ["a finalizer", deployment({}, {}, { finalizers: ["a/b"] }), "metadata.finalizers"],
    ["a generated name", deployment({}, {}, { generateName: "a" }), "metadata.generateName"],
    ["the node's network", deployment({ hostNetwork: true }), "hostNetwork"],
    ["the node's processes", deployment({ hostPID: true }), "hostPID"],
    ["the node's files", deployment({ volumes: [{ name: "v", hostPath: { path: "/" } }] }), "volume v"],
    ["a driver's own volume", deployment({ volumes: [{ name: "v", csi: { driver: "d" } }] }), "volume v"],
    ["an account of others", deployment({ serviceAccountName: "admin" }), "service account admin"],
    ["an account by its old name", deployment({ serviceAccount: "admin" }), "service account admin"],
    [
      "the namespace's own token",
      deployment({ automountServiceAccountToken: undefined }),
      "automountServiceAccountToken",
    ],
    [
      "the namespace's own token by another way",
      deployment({ volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] }),
      "projected token",
    ],
    ["a node by name", deployment({ nodeName: "control-plane-1" }), "nodeName"],
    ["a privileged container", deployment({}, { securityContext: { privileged: true } }), "privileged"],
    [
      "a privileged container that runs first",
      deployment({ initContainers: [{ name: "i", securityContext: { privileged: true } }] }),
      "container i is privileged",
    ],
    ["a way to more", deployment({}, { securityContext: { allowPrivilegeEscalation: true } }), "escalate"],
    ["a capability", deployment({}, { securityContext: { capabilities: { add: ["SYS_ADMIN"] } } }), "capabilities"],
    ["an open /proc", deployment({}, { securityContext: { procMount: "Unmasked" } }), "/proc"],
    ["a port of the node", deployment({}, { ports: [{ containerPort: 80, hostPort: 80 }] }), "port of the node"],
    ["a Service that leads out", object("v1", "Service", { spec: { type: "LoadBalancer" } }), "leads out"],
    ["a Service with a name of elsewhere", object("v1", "Service", { spec: { type: "ExternalName" } }), "leads out"],
    ["an address that is taken over", object("v1", "Service", { spec: { externalIPs: ["1.2.3.4"] } }), "addresses"],
    ["an Ingress", object("networking.k8s.io/v1", "Ingress"), "exposes"],
  ])("%s", (_, manifest, words) => {
    expect(problems([manifest])).toEqual([expect.stringContaining(words)]);
  });

  test("one object twice", () => {
    expect(problems([deployment(), deployment()])).toEqual(["the release has it twice"]);
  });

  test("in a Pod and in a CronJob what is refused in a Deployment", () => {
    const pod = { hostNetwork: true, automountServiceAccountToken: false };
    const rules = { kinds: ["Pod", "CronJob.batch"] };
    expect(problems([object("v1", "Pod", { spec: pod })], rules)).toEqual([expect.stringContaining("hostNetwork")]);
    const spec = { jobTemplate: { spec: { template: { spec: pod } } } };
    expect(problems([object("batch/v1", "CronJob", { spec })], rules)).toEqual([
      expect.stringContaining("hostNetwork"),
    ]);
  });

  test.each([
    ["registry.example/shop", "registry.example/shop/api:2", true],
    ["registry.example/shop/", "registry.example/shop/api@sha256:1", true],
    ["registry.example/shop/api", "registry.example/shop/api:2", true],
    ["registry.example/shop", "registry.example/shopping/api:2", false],
    ["registry.example", "registry.example.evil/api:2", false],
    ["registry.example", "api:2", false],
  ])("with the registry %s the image %s: %s", (registry, image, isAllowed) => {
    expect(problems([deployment({}, { image })], { registries: [registry] })).toHaveLength(isAllowed ? 0 : 1);
  });
});

test("where it may be exposed, Services and Ingresses pass, but no address of others", () => {
  const service = (spec: object) => object("v1", "Service", { spec: { type: "LoadBalancer", ...spec } });
  expect(problems([service({}), object("networking.k8s.io/v1", "Ingress")], { mayExpose: true })).toEqual([]);
  expect(problems([service({ externalIPs: ["1.2.3.4"] })], { mayExpose: true })).toEqual([
    "externalIPs take over addresses",
  ]);
});
