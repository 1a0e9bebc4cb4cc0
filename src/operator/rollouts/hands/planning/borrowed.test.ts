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

test.each<[string, string, object]>([
  ["apps/v1", "Deployment", { template: { spec: POD } }],
  ["batch/v1", "CronJob", { jobTemplate: { spec: { template: { spec: POD } } } }],
])("what the pods of a %s refer to and the release does not bring is named once", (apiVersion, kind, spec) => {
  const pods = [object(apiVersion, kind, "web", { spec }), object(apiVersion, kind, "api", { spec })];
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

test("names outside of the release have a line with the objects that have them, and its own have none", () => {
  const placed = {
    priorityClassName: "high",
    schedulerName: "default-scheduler",
    nodeSelector: { disk: "ssd" },
    tolerations: [{ key: "spot", operator: "Exists" }],
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "zone", labelSelector: { matchLabels: { app: "db" } } },
        ],
      },
    },
    containers: [{ name: "c", resources: { limits: { cpu: "1", "gpu.example/a": "1" } } }],
  };
  const backend = (name: string) => ({ service: { name, port: { number: 80 } } });
  const named = borrowed(
    [
      object("apps/v1", "Deployment", "web", { spec: { template: { spec: placed } } }),
      object("apps/v1", "StatefulSet", "db", { spec: { serviceName: "web", template: { spec: placed } } }),
      object("v1", "Service", "web", { spec: { clusterIP: "None" } }),
      object("networking.k8s.io/v1", "Ingress", "front", {
        spec: { ingressClassName: "nginx", defaultBackend: backend("theirs"), rules: [{ host: "login.example" }] },
      }),
    ],
    [],
  ).named;
  const both = ["Deployment.apps/shop/web", "StatefulSet.apps/shop/db"];
  const front = ["Ingress.networking.k8s.io/shop/front"];
  expect(named).toEqual([
    ["Service theirs, which the release does not bring", front],
    ["host *, which no other Ingress names", front],
    ["ingressClassName nginx", front],
    ['nodeSelector {"disk":"ssd"}', both],
    ['podAntiAffinity {"matchLabels":{"app":"db"}}', both],
    ["priorityClassName high", both],
    ["resource gpu.example/a", both],
    ["rules.host login.example", front],
    ['tolerations {"key":"spot","operator":"Exists"}', both],
  ]);
});

test("a service account that is new may have rights already; one that stays is no news", () => {
  const objects = [object("v1", "ServiceAccount", "web"), object("v1", "ServiceAccount", "api")];
  expect(borrowed(objects, ["ServiceAccount/shop/web", "ConfigMap/shop/x"]).accounts).toEqual([
    "has ServiceAccount shop/web: bindings and clouds that name it, or its namespace, give it their rights",
  ]);
});

test("a manifest of any depth ends no process", () => {
  let spec: object = { secretRef: { name: "deep" } };
  for (let depth = 0; depth < 100_000; depth += 1) spec = { template: { spec, affinity: spec } };
  expect(borrowed([object("apps/v1", "Deployment", "x", { spec })], []).read).toEqual([]);
});
