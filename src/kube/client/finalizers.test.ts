import { expect, test } from "vitest";
import type { KubeObject, ObjectMeta } from "../objects/resource.ts";
import { addFinalizer, removeFinalizer } from "./finalizers.ts";

function object(more: Partial<ObjectMeta>): KubeObject {
  const metadata = { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z", ...more };
  return { apiVersion: "example.dev/v1", kind: "Thing", metadata };
}

const UID = { op: "test", path: "/metadata/uid", value: "u" };

test("the first finalizer makes the list, and fails if there is one by now", () => {
  expect(addFinalizer(object({}), "mine")).toEqual([
    UID,
    { op: "test", path: "/metadata/finalizers", value: null },
    { op: "add", path: "/metadata/finalizers", value: ["mine"] },
  ]);
});

test("a further one is put at the end of exactly the list that was read", () => {
  expect(addFinalizer(object({ finalizers: ["theirs"] }), "mine")).toEqual([
    UID,
    { op: "test", path: "/metadata/finalizers", value: ["theirs"] },
    { op: "add", path: "/metadata/finalizers/-", value: "mine" },
  ]);
});

test("nothing is added twice, nor to what is being deleted", () => {
  expect(addFinalizer(object({ finalizers: ["mine"] }), "mine")).toBeUndefined();
  expect(addFinalizer(object({ deletionTimestamp: "2026-01-01T00:00:00Z" }), "mine")).toBeUndefined();
});

test("one is removed at its place, and only if it is still there", () => {
  expect(removeFinalizer(object({ finalizers: ["theirs", "mine"] }), "mine")).toEqual([
    UID,
    { op: "test", path: "/metadata/finalizers/1", value: "mine" },
    { op: "remove", path: "/metadata/finalizers/1" },
  ]);
  expect(removeFinalizer(object({ finalizers: ["theirs"] }), "mine")).toBeUndefined();
});
