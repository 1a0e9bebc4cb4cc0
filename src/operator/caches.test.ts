import { expect, test, vi } from "vitest";
import { silentLogger } from "../base/log.ts";
import { FakeClock } from "../base/testing/fake-clock.ts";
import type { ManagedDeployment } from "../crds/kinds/managed-deployment.ts";
import type { Rollout } from "../crds/kinds/rollout.ts";
import type { Informer } from "../kube/cache/informer.ts";
import { type Cached, Store } from "../kube/cache/store.ts";
import type { Client } from "../kube/client/client.ts";
import { Caches } from "./caches.ts";

const NAMESPACE = "sallyport-grants";
let made = 0;
const named = (name: string) => ({
  ...{ name, namespace: NAMESPACE, uid: name, resourceVersion: String(++made) },
  creationTimestamp: "2026-01-01T10:00:00Z",
});

const rollout = (deploymentId: string, namespaces?: readonly string[]): Rollout => ({
  ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "Rollout", metadata: named(`rollout-${made}`) },
  spec: {
    ...{ rolloutId: "duop_1", deploymentId, action: "install", contentName: "rel-1" },
    ...{ requestedAt: "2026-01-01T10:00:00Z", deadline: "2026-01-08T10:00:00Z" },
  },
  ...(namespaces && { status: { state: "Succeeded", namespaces: [...namespaces] } }),
});

const deployment = (deploymentId: string, acceptedNamespaces: readonly string[], state?: "Detached") =>
  ({
    metadata: named(`deployment-${made}`),
    spec: { deploymentId, name: "shop", acceptedNamespaces },
    ...(state && { status: { state } }),
  }) as unknown as ManagedDeployment;

function filled<T extends Cached>(informer: Informer<T>, objects: readonly T[]): void {
  const store = new Store<T>({ deployment: (object) => [(object as unknown as Rollout).spec.deploymentId] });
  for (const object of objects) store.set(object);
  vi.spyOn(informer, "store", "get").mockReturnValue(store);
}

function cachesOf(rollouts: readonly Rollout[], deployments: readonly ManagedDeployment[], releases = true): Caches {
  const nothing = () => undefined;
  const watch = { event: nothing, restart: nothing, lastEvent: nothing, objects: nothing, synced: nothing };
  const caches = new Caches({
    ...{ client: {} as Client, namespace: NAMESPACE, clock: new FakeClock(), log: silentLogger, metrics: { watch } },
    named: new Map([["dep_1", ["from-values"]]]),
    releases,
  });
  filled(caches.deployments, deployments);
  if (caches.rollouts !== undefined) filled(caches.rollouts, rollouts);
  return caches;
}

test("the places of a deployment's rollouts are those that are accepted, and those that its rollouts were planned for", () => {
  const caches = cachesOf(
    [rollout("dep_1", ["closed", "shop"]), rollout("dep_1"), rollout("dep_2", ["theirs"])],
    [deployment("dep_1", ["shop"]), deployment("dep_2", ["other"])],
  );
  expect(caches.rolloutPlaces("dep_1").toSorted()).toEqual(["closed", "from-values", "shop"]);
  expect(caches.rolloutPlaces("dep_2").toSorted()).toEqual(["other", "theirs"]);
  expect(caches.rolloutPlaces().toSorted()).toEqual(["closed", "from-values", "other", "shop", "theirs"]);
});

test("of a deployment that the cluster serves no more only places of its rollouts are left", () => {
  const caches = cachesOf([rollout("dep_1", ["closed"])], [deployment("dep_1", ["shop"], "Detached")]);
  expect(caches.rolloutPlaces("dep_1")).toEqual(["closed"]);
  expect(caches.rolloutPlaces("dep_unknown")).toEqual([]);
});

test("where releases are off only the accepted places are left", () => {
  expect(cachesOf([], [deployment("dep_2", ["other"])], false).rolloutPlaces("dep_2")).toEqual(["other"]);
});
