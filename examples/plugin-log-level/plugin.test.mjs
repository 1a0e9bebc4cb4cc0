// Run it with `node --test`, where @sallyport/plugin is installed. It needs no cluster: the client below is a ConfigMap in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import plugin from "./plugin.mjs";

/** @param conflicts how many writes another writer is faster than */
function fakeCluster({ data = {}, conflicts = 0 } = {}) {
  const object = { metadata: { name: "web", namespace: "shop", resourceVersion: "1" }, data };
  const sent = [];
  const client = {
    async get(_resource, { name }) {
      return name === "web" ? structuredClone(object) : undefined;
    },
    async patch(_resource, _key, body) {
      sent.push(body);
      if (sent.length <= conflicts) {
        object.metadata.resourceVersion = String(Number(object.metadata.resourceVersion) + 1);
        throw Object.assign(new Error("the object has been modified"), { name: "ApiError", status: 409 });
      }
      assert.equal(body.metadata.resourceVersion, object.metadata.resourceVersion);
      Object.assign(object.data, body.data);
      return object;
    },
  };
  const slept = [];
  const clock = { now: () => new Date(0), sleep: async (ms) => void slept.push(ms) };
  const call = (more) => ({ client, clock, params: { namespace: "shop", name: "web", ...more } });
  return { call, object, sent, slept };
}

test("show reads the level, and the default where there is none", async () => {
  assert.deepEqual(await plugin.show.run(fakeCluster().call()), { level: "info" });
  assert.deepEqual(await plugin.show.run(fakeCluster({ data: { LOG_LEVEL: "warn" } }).call()), { level: "warn" });
});

test("set changes the level and nothing else, and finds it afterwards", async () => {
  const { call, object } = fakeCluster({ data: { LOG_LEVEL: "warn", OTHER: "kept" } });
  const done = await plugin.set.run(call({ level: "debug" }));
  assert.deepEqual(done, { before: "warn", level: "debug", changed: true });
  assert.deepEqual(object.data, { LOG_LEVEL: "debug", OTHER: "kept" });
  assert.deepEqual(await plugin.set.verify(call({ level: "debug" }), done), done);
});

test("set sends nothing where the level is as asked", async () => {
  const { call, sent } = fakeCluster({ data: { LOG_LEVEL: "debug" } });
  assert.deepEqual(await plugin.set.run(call({ level: "debug" })), { before: "debug", level: "debug", changed: false });
  assert.deepEqual(sent, []);
});

test("set reads again when another writer was first, and gives up in the end", async () => {
  const twice = fakeCluster({ conflicts: 2 });
  assert.equal((await plugin.set.run(twice.call({ level: "debug" }))).changed, true);
  assert.deepEqual(twice.slept, [100, 200]);
  await assert.rejects(plugin.set.run(fakeCluster({ conflicts: 9 }).call({ level: "debug" })), { status: 409 });
});

test("it says no where there is nothing to change, and where something else has set the level", async () => {
  const { call } = fakeCluster({ data: { LOG_LEVEL: "warn" } });
  await assert.rejects(plugin.show.run(call({ name: "api" })), { name: "OperationError", message: /no ConfigMap api/ });
  await assert.rejects(plugin.set.verify(call(), { level: "debug" }), {
    name: "OperationError",
    message: /has the level warn/,
  });
  assert.throws(() => plugin.set.bind({ name: "kube-root-ca.crt" }), { name: "OperationError" });
});
