import { expect, test } from "vitest";
import { type KubeObject, type ObjectMeta, resources } from "../objects/resource.ts";
import { ApiError } from "./api-error.ts";
import type { Client } from "./client.ts";
import { addFinalizer, removeFinalizer } from "./finalizers.ts";

const { signal } = new AbortController();
const UID = { op: "test", path: "/metadata/uid", value: "u" };

function object(more: Partial<ObjectMeta>): KubeObject {
  const metadata = { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z", ...more };
  return { apiVersion: "example.dev/v1", kind: "Thing", metadata };
}

/** A server that says what it was sent. */
function server(answer: () => KubeObject = () => object({})) {
  const sent: unknown[] = [];
  const patch = async (...[, , { body }]: Parameters<Client["patch"]>) => {
    sent.push(body);
    return answer();
  };
  return { sent, patch: patch as Client["patch"] };
}

const added = async (to: KubeObject): Promise<unknown> => {
  const client = server();
  const answer = await addFinalizer(client, resources.configMaps, to, "mine", signal);
  if (client.sent.length === 0) expect(answer).toBe(to);
  return client.sent[0];
};
const removed = async (from: KubeObject, client = server()): Promise<unknown> => {
  await removeFinalizer(client, resources.configMaps, from, "mine", signal);
  return client.sent[0];
};

test("the first finalizer makes the list, and fails if there is one by now", async () => {
  expect(await added(object({}))).toEqual([
    UID,
    { op: "test", path: "/metadata/finalizers", value: null },
    { op: "add", path: "/metadata/finalizers", value: ["mine"] },
  ]);
});

test("a further one is put at the end of exactly the list that was read", async () => {
  expect(await added(object({ finalizers: ["theirs"] }))).toEqual([
    UID,
    { op: "test", path: "/metadata/finalizers", value: ["theirs"] },
    { op: "add", path: "/metadata/finalizers/-", value: "mine" },
  ]);
});

test("nothing is added twice, nor to what is being deleted", async () => {
  expect(await added(object({ finalizers: ["mine"] }))).toBeUndefined();
  expect(await added(object({ deletionTimestamp: "2026-01-01T00:00:00Z" }))).toBeUndefined();
});

test("one is removed at its place, and only if it is still there", async () => {
  expect(await removed(object({ finalizers: ["theirs", "mine"] }))).toEqual([
    UID,
    { op: "test", path: "/metadata/finalizers/1", value: "mine" },
    { op: "remove", path: "/metadata/finalizers/1" },
  ]);
  expect(await removed(object({ finalizers: ["theirs"] }))).toBeUndefined();
});

test("an object that is gone has no finalizer to be removed; any other refusal is told", async () => {
  const refusing = (status: number) =>
    server(() => {
      throw new ApiError("no", { status, reason: "" });
    });
  const mine = object({ finalizers: ["mine"] });
  await removed(mine, refusing(404));
  for (const status of [0, 403, 409, 422, 500]) {
    await expect(removed(mine, refusing(status))).rejects.toMatchObject({ status });
  }
  await expect(addFinalizer(refusing(404), resources.configMaps, object({}), "mine", signal)).rejects.toMatchObject({
    status: 404,
  });
});
