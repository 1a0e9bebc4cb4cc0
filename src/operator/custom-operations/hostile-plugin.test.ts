import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { ApiError } from "../../kube/client/api-error.ts";
import { AnswerTooLarge } from "../../kube/client/exchange.ts";
import { OperationStopped } from "../operations/running-operations.ts";
import { PluginWorld } from "../testing/plugin-world.ts";

const PKCS8 = { type: "pkcs8", format: "pem" } as const;
const SPKI = { type: "spki", format: "pem" } as const;

// A plugin's code is the vendor's, in the pod that holds the operator's token. Each test starts the real process.

test("a plugin that asks for files, processes, workers, sockets and debuggers by their modules is refused each", async () => {
  const world = await PluginWorld.with(`
    const seen = {};
    for (const name of ["node:fs", "fs", "node:child_process", "node:worker_threads", "node:net", "node:http", "node:dgram", "node:tls",
      "node:inspector", "node:wasi", "node:sqlite", "node:vm", "node:module", "node:process", "node:os", "node:v8", "node:dns",
      "data:text/javascript,export default 1", "file:///etc/passwd", "./other.mjs", "../plugin.mjs", "undici"]) {
      try { await import(name); seen[name] = "loaded"; } catch (error) { seen[name] = error.message.startsWith("a plugin may not import"); }
    }
    return { said: Object.values(seen).every((each) => each === true), seen };`);
  expect(await world.run()).toMatchObject({ state: "Succeeded", result: { said: true } });
});

test("a plugin finds no environment, no signals, no built-in modules and no network by the names of Node.js", async () => {
  const world = await PluginWorld.with(`
    const names = ["kill", "_kill", "_debugProcess", "binding", "_linkedBinding", "getBuiltinModule", "dlopen", "execve", "exit", "abort",
      "_getActiveHandles", "stdout", "stderr", "stdin", "report", "ppid", "pid", "mainModule", "chdir", "loadEnvFile"];
    const there = names.filter((name) => name in process);
    const network = ["fetch", "WebSocket", "EventSource", "BroadcastChannel", "Worker", "Request", "navigator"].filter((name) => name in globalThis);
    const other = Function("return this")().process === process;
    return { said: [there, network, Object.keys(process.env), other, process.argv, process.execArgv] };`);
  expect(await world.run()).toMatchObject({ state: "Succeeded", result: { said: [[], [], [], true, [], []] } });
});

test("a plugin that patches what Node.js and the runner use finds it frozen, and gains no file and no right", async () => {
  const world = await PluginWorld.with(
    `const imported = [];
     for (const name of ["node:process", "node:net", "node:fs", "__proto__"]) await import(name).then(() => imported.push(name), () => undefined);
     const asked = await client.get(DEPLOYMENTS, { namespace: "bank", name: "web" }).catch((error) => error.message);
     return { seen: [took, imported], said: asked };`,
    `const patches = {
       json() { JSON.stringify = ((own) => (value) => own(value?.type === "call" ? { ...value, token: "more", verb: "get" } : value))(JSON.stringify); },
       promises() { Promise.prototype.then = ((own) => function (...args) { return own.apply(this, args); })(Promise.prototype.then); },
       lists() { for (const name of ["includes", "some", "indexOf", "find"]) Array.prototype[name] = () => true; },
       sets() { Set.prototype.has = Map.prototype.has = Object.hasOwn = () => true; },
       setters() { Object.defineProperty(Object.prototype, "handle", { set() {} }); },
       getters() { Object.defineProperty(Object.prototype, "noDeprecation", { get() { return false; } }); },
       stacks() { Error.prepareStackTrace = (_, sites) => sites; },
       species() { Object.defineProperty(Promise, Symbol.species, { value: class extends Promise {} }); },
       emitters() { EventEmitter.prototype.emit = () => true; },
       buffers() { Buffer.from = () => undefined; },
       globals() { globalThis.AbortController = class {}; },
     };
     import { EventEmitter } from "node:events";
     const took = Object.keys(patches).filter((name) => { try { patches[name](); return true; } catch { return false; } });`,
  );
  expect(await world.run()).toMatchObject({
    state: "Succeeded",
    result: { seen: [[], []], said: "this operation works in namespace shop alone" },
  });
});

test("a plugin reads no file by what it may import: neither a key by its address nor the source of a failed assertion", async () => {
  const outside = await mkdtemp(join(tmpdir(), "sallyport-key-"));
  onTestFinished(() => rm(outside, { recursive: true, force: true }));
  const key = join(outside, "key.mjs");
  const { privateKey } = generateKeyPairSync("ed25519", { privateKeyEncoding: PKCS8, publicKeyEncoding: SPKI });
  await writeFile(key, privateKey);
  expect(createPrivateKey(new URL(pathToFileURL(key)) as never).asymmetricKeyType).toBe("ed25519");
  const world = await PluginWorld.with(
    `const seen = {};
     for (const name of ["createPrivateKey", "createPublicKey", "createSecretKey"]) for (const form of [KEY, { key: KEY }, KEY.href, { key: KEY.href }])
       try { seen[name] = String(crypto[name](form)); } catch {}
     try { seen.sign = String(crypto.sign(null, Buffer.from("x"), KEY)); } catch {}
     try { (0, eval)("(ok) => ok(0)\\n//# sourceURL=" + KEY.href)(ok); } catch (error) { if (/PRIVATE|MC4C/.test(error.message)) seen.assert = error.message; }
     return { seen };`,
    `import * as crypto from "node:crypto"; import { ok } from "node:assert"; const KEY = new URL(${JSON.stringify(pathToFileURL(key).href)});`,
  );
  expect(await world.run()).toMatchObject({ state: "Succeeded", result: { seen: {} } });
});

test("what is frozen can still be inherited, overridden and called", async () => {
  const world = await PluginWorld.with(
    `const error = new Told("x"); const lines = new Lines(); lines.emit("line", 1); lines.emit = () => "own";
     const old = new Old(); const plain = { toString: () => "plain" }; plain.constructor = Old; plain.valueOf = () => 7;
     globalThis.mine = 1;
     const copy = structuredClone({ at: new Date(0), set: new Set([1]), in: [1n] });
     const abort = new AbortController(); setTimeout(() => abort.abort(), 1);
     await new Promise((resolve) => abort.signal.addEventListener("abort", resolve));
     const text = await new Response2(["a", "b"]).text();
     const bytes = Buffer.from("x").toString("hex") + createHash("sha256").update("x").digest("hex").slice(0, 4);
     const url = new URL("https://a.example/b?c=d"); url.searchParams.set("c", "e");
     const stream = new ReadableStream({ start(to) { to.enqueue("s"); to.close(); } });
     const streamed = []; for await (const each of stream) streamed.push(each);
     return { seen: [String(error), error.name, error instanceof Error, lines.seen, lines.emit(), old.emit("x"), String(plain), plain + 1, mine,
       copy.at.getTime(), copy.set.has(1), text, bytes, url.href, inspect(copy.set), typeof performance.now(), streamed,
       await promisify((done) => done(null, "p"))(), (await subtle.digest("SHA-256", Buffer.from("x"))).byteLength] };`,
    `import { EventEmitter } from "node:events"; import { inherits, inspect, promisify } from "node:util"; import { createHash, subtle } from "node:crypto";
     class Told extends Error { constructor(message) { super(message); this.name = "Told"; this.message = message + "!"; this.toString = () => "told"; } }
     class Lines extends EventEmitter { constructor() { super(); this.seen = []; this.on("line", (line) => this.seen.push(line)); } }
     function Old() { EventEmitter.call(this); } inherits(Old, EventEmitter); Old.prototype.emit = function () { return "old"; };
     class Response2 extends Blob {}`,
  );
  expect(await world.run()).toMatchObject({
    state: "Succeeded",
    result: {
      seen: [
        ...["told", "Told", true, [1], "own", "old", "plain", 8, 1, 0, true, "ab", "782d71", "https://a.example/b?c=e"],
        ...["Set(1) { 1 }", "number", ["s"], "p", 32],
      ],
    },
  });
});

test.each([
  ["that computes without end", "for (;;);"],
  ["that waits for what never comes", "await new Promise(() => undefined);"],
  ["that never loads", "", "for (;;);"],
])("a plugin %s is killed at its time limit", async (_, run, more = "") => {
  const world = await PluginWorld.with(run, more);
  expect(await world.run({ timeLimitMs: 3_000 })).toEqual({
    state: "Failed",
    code: "HANDLER_TIMEOUT",
    message: "stopped before anything was changed: time limit",
  });
});

test.each([
  ["with requests", "for (;;) client.get(DEPLOYMENTS, AT);", /more than 16 requests before an answer/],
  [
    "its output",
    `for (;;) console.log("x".repeat(60_000));`,
    /bytes to its output|MiB of memory|ended without an answer/,
  ],
  ["its result", `return { said: "x".repeat(3 * 1024 * 1024) };`, /sent a message of more than 2097152 bytes/],
  [
    "memory",
    "const all = []; for (;;) { all.push(Buffer.alloc(8 << 20, 1)); await clock.sleep(20); }",
    /MiB of memory/,
  ],
  ["its heap", "const all = []; for (;;) all.push({ n: all.length });", /ended without an answer|MiB of memory/],
])("a plugin that floods %s is killed, and the run failed", async (_, run, words) => {
  const world = await PluginWorld.with(run);
  const outcome = await world.run();
  expect(outcome).toMatchObject({ state: "Failed", message: expect.stringMatching(words) });
});

test("what a plugin says beyond the declared words stays here, and the rest is cut to what a result may hold", async () => {
  const world = await PluginWorld.with(
    `return JSON.parse('{"said":"' + "x".repeat(200000) + '","more":"no","__proto__":{"seen":"no"}}');`,
  );
  const outcome = await world.run();
  if (outcome.state !== "Succeeded") throw new Error(outcome.message);
  expect(Object.keys(outcome.result)).toEqual(["said", "truncated"]);
  expect(JSON.stringify(outcome.result).length).toBeLessThan(65_536);
});

const SECRET = "password=hunter2-canary";

test.each([
  ["returns", `return { said: "${SECRET}" };`],
  ["returns as the name of a field", `return { seen: { "${SECRET}": [{ "${SECRET}": 1 }] } };`],
  ["throws", `throw new Error("${SECRET}");`],
  ["refuses with", `throw new OperationError("${SECRET}");`],
  ["prints", `console.error("${SECRET}"); return { said: 1 };`],
])("a secret that a plugin %s is redacted in the outcome and in the log", async (_, run) => {
  const world = await PluginWorld.with(run);
  const text = JSON.stringify([await world.run(), world.logged]);
  expect(text).toContain("[redacted]");
  expect(text).not.toContain("canary");
});

const REFUSED = [
  ["in another namespace", `client.patch(DEPLOYMENTS, { ...AT, namespace: "bank" }, {})`, /namespace shop alone/],
  ["in no namespace", `client.list(DEPLOYMENTS)`, /names the namespace of the operation/],
  ["of another kind", `client.get({ group: "", version: "v1", plural: "secrets" }, AT)`, /do not have get secrets/],
  ["of another verb", "client.delete(DEPLOYMENTS, AT)", /do not have delete deployments of apps/],
  ["of a part", `client.patch(DEPLOYMENTS, AT, {}, { subresource: "scale" })`, /do not have patch deployments\/scale/],
  ["of a part with rights", `client.patch(DEPLOYMENTS, AT, {}, { subresource: "token" })`, /one of scale, status/],
  ["with a way in the name", `client.get(DEPLOYMENTS, { ...AT, name: "../secrets/x" })`, /the name of an object/],
  [
    "with a way in the kind",
    `client.get({ ...DEPLOYMENTS, plural: "deployments/web" }, AT)`,
    /group, version and plural/,
  ],
  ["with a way in the version", `client.get({ ...DEPLOYMENTS, version: "v1/namespaces/bank" }, AT)`, /group, version/],
  ["that claims a field", `client.patch(DEPLOYMENTS, AT, { metadata: { managedFields: [] } })`, /managedFields/],
  [
    "that claims a field in steps",
    `client.patch(DEPLOYMENTS, AT, [{ op: "replace", path: "/metadata", value: {} }], { type: "json" })`,
    /managedFields/,
  ],
  [
    "that claims a field by a path that begins with a word",
    `client.patch(DEPLOYMENTS, AT, [{ op: "replace", path: "x/metadata/managedFields/0/manager", value: "" }], { type: "json" })`,
    /managedFields/,
  ],
  ["that gives it an owner", `client.patch(DEPLOYMENTS, AT, { metadata: { ownerReferences: [] } })`, /ownerReferences/],
  [
    "that gives it an owner in steps",
    `client.patch(DEPLOYMENTS, AT, [{ op: "add", path: "/metadata/ownerReferences", value: [] }], { type: "json" })`,
    /ownerReferences/,
  ],
  [
    "that moves the name of an owner away",
    `client.patch(DEPLOYMENTS, AT, [{ op: "move", from: "/metadata/managedFields/0/manager", path: "/metadata/labels/x" }], { type: "json" })`,
    /managedFields/,
  ],
  [
    "that replaces its metadata by a word of strategic patches",
    `client.patch(DEPLOYMENTS, AT, { metadata: { $patch: "replace" } }, { type: "strategic" })`,
    /labels, annotations, finalizers alone/,
  ],
  [
    "that replaces all of it by a word of strategic patches",
    `client.patch(DEPLOYMENTS, AT, { $patch: "replace" }, { type: "strategic" })`,
    /labels, annotations, finalizers alone/,
  ],
  [
    "that keeps of it what it names",
    `client.patch(DEPLOYMENTS, AT, { $retainKeys: ["kind"] }, { type: "strategic" })`,
    /labels, annotations, finalizers alone/,
  ],
  ["whose group is no text", `client.get({ ...DEPLOYMENTS, group: { toString: 1 } }, AT)`, /group, version and plural/],
  [
    "whose path is no text",
    `client.patch(DEPLOYMENTS, AT, [{ op: "add", path: { toString: 1 }, value: 1 }], { type: "json" })`,
    /finalizers alone/,
  ],
  ["that removes its metadata", `client.patch(DEPLOYMENTS, AT, { metadata: null })`, /finalizers alone/],
] as const;

test("a request beyond the operation's rules or its namespace is never sent", async () => {
  const world = await PluginWorld.with(`
    const seen = [];
    for (const ask of [${REFUSED.map(([, code]) => `() => ${code}`).join(", ")}]) seen.push(await ask().then(() => "sent", (error) => error.message));
    return { seen };`);
  const outcome = await world.run();
  if (outcome.state !== "Succeeded") throw new Error(outcome.message);
  const seen = outcome.result.seen as readonly string[];
  for (const [index, [name, , words]] of REFUSED.entries()) expect(seen[index], name).toMatch(words);
  expect(world.cluster.calls).toEqual([]);
});

test("a plugin that lists objects larger than the operator has memory for is refused, and no page of them is read whole", async () => {
  const world = await PluginWorld.with(
    `return { said: await client.list(DEPLOYMENTS, { namespace: "shop" }).catch(({ status, message }) => [status, message]) };`,
  );
  const asked: (number | undefined)[] = [];
  world.client = {
    ...world.cluster.client("grant"),
    // As the client does it, page by page.
    list: async function* (_, { pageBytes }) {
      asked.push(pageBytes);
      const cause = new AnswerTooLarge(pageBytes ?? 0);
      yield await Promise.reject<never>(new ApiError(cause.message, { status: 0, reason: "NetworkError", cause }));
    },
  };
  expect(await world.run()).toMatchObject({
    state: "Succeeded",
    result: { said: [413, "the objects have more than 8 MiB"] },
  });
  expect(asked).toEqual([8 * 1_024 * 1_024]);
});

test.each([
  [
    "ends before it is answered",
    "client.patch(DEPLOYMENTS, AT, {}); return { said: 1 };",
    /request patch was answered.*lacks an await/,
  ],
  [
    "is refused while it does something else",
    `client.patch(DEPLOYMENTS, { ...AT, name: "../x" }, {}); await clock.sleep(300); return { said: 1 };`,
    /a key has the name of an object/,
  ],
])("a plugin that does not await a request, and %s, has not succeeded", async (_, run, words) => {
  const world = await PluginWorld.with(run);
  expect(await world.run()).toMatchObject({
    state: expect.not.stringMatching("Succeeded"),
    message: expect.stringMatching(words),
  });
});

test("a revocation kills the plugin: nothing that it asks for afterwards is sent", async () => {
  const world = await PluginWorld.with(`
    await client.get(DEPLOYMENTS, AT);
    await client.patch(DEPLOYMENTS, AT, { metadata: { labels: { a: "late" } } });
    return {};`);
  const stop = new AbortController();
  const client = world.cluster.client("grant");
  world.client = {
    ...client,
    get: (async (...args: Parameters<typeof client.get>) => {
      const found = await client.get(...args);
      stop.abort(new OperationStopped("revoked"));
      return found;
    }) as typeof client.get,
  };
  expect(await world.run({ stop: stop.signal })).toEqual({
    state: "Failed",
    code: "HANDLER_ERROR",
    message: "stopped before anything was changed: revoked",
  });
  expect(world.cluster.calls.map(({ verb }) => verb)).toEqual(["get"]);
});

test.each([
  ["claims success", "return {};"],
  ["claims that it refused", `throw new OperationError("I did nothing");`],
  ["crashes", `throw new Error("oops");`],
])("a plugin that %s after a change without an answer leaves the outcome unknown", async (_, end) => {
  const world = await PluginWorld.with(
    `await client.patch(DEPLOYMENTS, AT, { metadata: { labels: { a: "b" } } }).catch(() => undefined); ${end}`,
  );
  world.client = {
    ...world.cluster.client("grant"),
    patch: () => Promise.reject(new ApiError("the connection was lost", { status: 0, reason: "NetworkError" })),
  };
  expect(await world.run()).toMatchObject({ state: "Unknown" });
});

test("a change without an answer stays unknown when a later one is answered", async () => {
  const world = await PluginWorld.with(
    `const patch = () => client.patch(DEPLOYMENTS, AT, { metadata: { labels: { a: "b" } } });
     await patch().catch(() => undefined);
     await patch();
     return {};`,
  );
  const client = world.cluster.client("grant");
  let sent = 0;
  world.client = {
    ...client,
    patch: (async (...args: Parameters<typeof client.patch>) => {
      sent += 1;
      if (sent === 1) throw new ApiError("the connection was lost", { status: 0, reason: "NetworkError" });
      return client.patch(...args);
    }) as typeof client.patch,
  };
  expect(await world.run()).toMatchObject({ state: "Unknown" });
  expect(sent).toBe(2);
});

test("a plugin that crashes after a change that was accepted leaves the outcome unknown, before it the run failed", async () => {
  const before = await PluginWorld.with(`await client.get(DEPLOYMENTS, AT); throw new Error("oops");`);
  expect(await before.run()).toMatchObject({ state: "Failed", message: expect.stringContaining("oops") });
  const after = await PluginWorld.with(
    `await client.patch(DEPLOYMENTS, AT, { metadata: { labels: { a: "b" } } }); throw new Error("oops");`,
  );
  expect(await after.run()).toMatchObject({ state: "Unknown", message: expect.stringContaining("oops") });
});
