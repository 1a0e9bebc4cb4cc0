import { expect, test } from "vitest";
import type { LiveObject } from "../release-api.ts";
import { referenceLines } from "./referred.ts";

const live = (name: string, spec: object, labels = {}): LiveObject =>
  ({ metadata: { name, namespace: "shop", labels }, spec }) as unknown as LiveObject;
const of = (kind: string, apiVersion: string) => {
  const [group = "", version = ""] = apiVersion.split("/");
  return { group, version, kind };
};
const fresh = new Set(["Service/api", "ConfigMap/settings", "ServiceAccount/web", "Deployment.apps/api"]);

test("what of the customer's names a new object has a line, wherever it names it", () => {
  const front = live("front", { rules: [{ http: { paths: [{ backend: { service: { name: "api" } } }] } }] });
  expect(referenceLines(of("Ingress", "networking.k8s.io/v1"), "shop", front, fresh)).toEqual([
    "your Ingress shop/front names Service api, which is new",
  ]);
  const optional = { containers: [{ name: "c", envFrom: [{ configMapRef: { name: "settings", optional: true } }] }] };
  const web = live("web", { template: { spec: { ...optional, serviceAccountName: "web" } } });
  expect(referenceLines(of("Deployment", "apps/v1"), "shop", web, fresh)).toEqual([
    "your Deployment shop/web names ConfigMap settings, which is new",
    "your Deployment shop/web names ServiceAccount web, which is new",
  ]);
  const db = live("db", { serviceName: "api" }, { "sallyport.dev/deployment-id": "dep_2" });
  expect(referenceLines(of("StatefulSet", "apps/v1"), "shop", db, fresh)).toEqual([
    "the StatefulSet shop/db of deployment dep_2 names Service api, which is new",
  ]);
  const scaler = live("x", { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "api" } });
  expect(referenceLines(of("HorizontalPodAutoscaler", "autoscaling/v2"), "shop", scaler, fresh)).toEqual([
    "your HorizontalPodAutoscaler shop/x names Deployment.apps api, which is new",
  ]);
});

test("what names other objects, or is of a newer Kubernetes, has no line", () => {
  const odd = live("odd", { fromANewerKubernetes: { name: "api" }, serviceName: "other" });
  expect(referenceLines(of("StatefulSet", "apps/v1"), "shop", odd, fresh)).toEqual([]);
});
