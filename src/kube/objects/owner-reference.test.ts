import { expect, test } from "vitest";
import { AlreadyOwnedError, assertControllable, controllerOf, ownerReference } from "./owner-reference.ts";
import type { KubeObject, ObjectMeta } from "./resource.ts";

function object(name: string, uid: string, more: Partial<ObjectMeta> = {}): KubeObject {
  const metadata = { name, uid, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z", ...more };
  return { apiVersion: "example.dev/v1", kind: "Thing", metadata };
}

test("the reference names the owner, controls, and holds up its deletion", () => {
  expect(ownerReference(object("parent", "u1"))).toEqual({
    apiVersion: "example.dev/v1",
    kind: "Thing",
    name: "parent",
    uid: "u1",
    controller: true,
    blockOwnerDeletion: true,
  });
});

test("the controller is found among other owners", () => {
  const plain = { ...ownerReference(object("plain", "u0")), controller: false };
  const controlling = ownerReference(object("parent", "u1"));
  expect(controllerOf(object("child", "c", { ownerReferences: [plain, controlling] }))).toBe(controlling);
  expect(controllerOf(object("child", "c", { ownerReferences: [plain] }))).toBeUndefined();
  expect(controllerOf(object("child", "c"))).toBeUndefined();
});

test("what another controller owns is left alone, also the one that had our name before", () => {
  const owner = object("parent", "u1");
  const child = object("child", "c", { ownerReferences: [ownerReference(owner)] });
  expect(() => assertControllable(child, owner)).not.toThrow();
  expect(() => assertControllable(object("child", "c"), owner)).not.toThrow();
  expect(() => assertControllable(child, object("parent", "u2"))).toThrow(AlreadyOwnedError);
  expect(() => assertControllable(child, object("parent", "u2"))).toThrow("Thing child is controlled by Thing parent");
});
