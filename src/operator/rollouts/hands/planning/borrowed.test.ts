import { expect, test } from "vitest";
import type { ReleaseManifest, ReleaseObject } from "../../../../crds/kinds/release-content.ts";
import { borrowed } from "./borrowed.ts";

function object(apiVersion: string, kind: string, name: string, more: object = {}): ReleaseObject {
  const manifest: ReleaseManifest = { apiVersion, kind, metadata: { name, namespace: "shop" }, ...more };
  return { wave: 0, frozen: false, resourceId: name, manifest };
}

const POD = {
  imagePullSecrets: [{ name: "pull" }],
  initContainers: [{ name: "i", envFrom: [{ secretRef: { name: "env" } }, { configMapRef: { name: "settings" } }] }],
  containers: [
    {
      name: "c",
      env: [
        { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db-password", key: "p" } } },
        { name: "HOST", valueFrom: { configMapKeyRef: { name: "own", key: "h" } } },
        { name: "PLAIN", value: "secretRef" },
      ],
    },
  ],
  volumes: [
    { name: "a", secret: { secretName: "certificates" } },
    { name: "b", projected: { sources: [{ secret: { name: "projected" } }, { configMap: { name: "bundle" } }] } },
    { name: "c", persistentVolumeClaim: { claimName: "data" } },
    { name: "d", configMap: { name: "own" } },
  ],
};

test.each<[string, object]>([
  ["Deployment", { template: { spec: POD } }],
  ["CronJob", { jobTemplate: { spec: { template: { spec: POD } } } }],
])("what the pods of a %s refer to and the release does not bring is named once", (kind, spec) => {
  const pods = [object("apps/v1", kind, "web", { spec }), object("apps/v1", kind, "api", { spec })];
  expect(borrowed([...pods, object("v1", "ConfigMap", "own")], []).read).toEqual([
    "reads ConfigMap shop/bundle, which the release does not bring",
    "reads ConfigMap shop/settings, which the release does not bring",
    "uses PersistentVolumeClaim shop/data, which the release does not bring",
    "reads Secret shop/certificates, which the release does not bring",
    "reads Secret shop/db-password, which the release does not bring",
    "reads Secret shop/env, which the release does not bring",
    "reads Secret shop/projected, which the release does not bring",
    "reads Secret shop/pull, which the release does not bring",
  ]);
});

test("a claim that is a copy of another one uses that one", () => {
  const spec = { dataSource: { kind: "PersistentVolumeClaim", name: "theirs" } };
  expect(borrowed([object("v1", "PersistentVolumeClaim", "mine", { spec })], []).read).toEqual([
    "uses PersistentVolumeClaim shop/theirs, which the release does not bring",
  ]);
});

test("a service account that is new may have rights already; one that stays is no news", () => {
  const objects = [object("v1", "ServiceAccount", "web"), object("v1", "ServiceAccount", "api")];
  expect(borrowed(objects, ["ServiceAccount/shop/web", "ConfigMap/shop/x"]).accounts).toEqual([
    "has ServiceAccount shop/web: bindings that name it already give it their rights",
  ]);
});

test("a manifest of any depth is read", () => {
  let spec: object = { secretRef: { name: "deep" } };
  for (let depth = 0; depth < 100_000; depth += 1) spec = { spec };
  expect(borrowed([object("v1", "ConfigMap", "x", { spec })], []).read).toHaveLength(1);
});
