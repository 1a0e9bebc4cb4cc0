import { constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { NODE_MODULES } from "../../plugins/module-imports.ts";
import { childCommand } from "./child-command.ts";
import { runPlugin } from "./plugin-process.ts";
import { findNatives } from "./testing/natives.ts";

/** Each name that Node's own JavaScript gives a value on some object: a setter under it could be handed that object. */
function namesThatNodeSets(): readonly string[] {
  const { binding } = process as unknown as { binding(name: "natives"): Readonly<Record<string, unknown>> };
  const assigned = Object.values(binding.call(process, "natives")).flatMap((text) =>
    typeof text === "string" ? [...text.matchAll(/\.([A-Za-z_$][\w$]*)\s*=[^=>]/g)] : [],
  );
  return [...new Set(assigned.map(([, name = ""]) => name))].filter((name) => name !== "__proto__");
}

/** What Linux says of a descriptor of the process that runs a module; libuv lets none wait that it has made an object of. */
function waits(module: string, descriptor: number): boolean {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(module)) continue;
      const [, flags = ""] =
        /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, "utf8")) ?? [];
      return (Number.parseInt(flags, 8) & constants.O_NONBLOCK) === 0;
    } catch {
      // It has ended.
    }
  }
  throw new Error("there is no such process");
}

/** @param run the body of the operation; `natives(roots)` lists what acts on the system among all that is reachable from there */
async function ran(run: string, more = "", asked = (_: string): unknown => undefined): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-reach-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const module = join(folder, "plugin.mjs");
  const imports = NODE_MODULES.map((name, at) => `import * as m${at} from ${JSON.stringify(name)};`);
  const modules = `[${NODE_MODULES.map((_, at) => `m${at}`).join(", ")}]`;
  await writeFile(
    module,
    `import * as own from "@sallyport/plugin";
${imports.join("\n")}
const natives = ${findNatives.toString()};
const MODULES = ${modules};
const AT = { namespace: "shop", name: "web" };
const MAPS = { group: "", version: "v1", plural: "configmaps" };
${more}
export default { act: { async run(call) { const { client, clock } = call; ${run} } } };`,
  );
  const outcome = await runPlugin(
    { module, operation: "act", params: {}, startedAt: new Date(), timeLimitMs: 120_000 },
    {
      clock: systemClock,
      answer: async () => {
        asked(folder);
        return { ok: true, value: { some: "object" } };
      },
      ended: () => undefined,
    },
    AbortSignal.timeout(120_000),
  );
  return outcome.type === "done" ? outcome.result : outcome;
}

test("a handle of the system is found among what is reachable: this process has one", () => {
  const socket = new Socket();
  onTestFinished(() => void socket.destroy());
  socket.connect(1).on("error", () => undefined);
  const found = findNatives([socket, process, AbortSignal]);
  for (const way of [/\.connect$/, / is TCP$/, /_kill$/, /dlopen$/, /messaging_transfer/]) {
    expect(found).toContainEqual(expect.stringMatching(way));
  }
});

test("no handle, and no function of the system's, is reachable from globals, imports, the call and what they hand out", async () => {
  const found = await ran(`
    const handed = [];
    const keep = function (...all) { handed.push(this, ...all); };
    const { m } = Object.fromEntries([["m", Object.assign({}, ...MODULES)]]);
    const timer = setTimeout(keep, 1); const immediate = setImmediate(keep); queueMicrotask(keep); process.nextTick(keep);
    const each = setInterval(keep, 1);
    m.randomBytes(8, keep); m.pbkdf2("a", "b", 1, 8, "sha256", keep); m.generateKeyPair("ec", { namedCurve: "P-256" }, keep);
    const emitter = new m.EventEmitter(); emitter.on("newListener", keep); emitter.on("x", keep); emitter.emit("x");
    const hash = m.createHash("sha256"); hash.on("data", keep); hash.end("x");
    const abort = new AbortController(); abort.signal.addEventListener("abort", keep); abort.abort();
    const late = AbortSignal.timeout(5); late.addEventListener("abort", keep);
    const channel = new TransformStream({ transform: keep, start: keep, flush: keep });
    const blob = new Blob(["x"]);
    const observer = new PerformanceObserver(keep); observer.observe({ entryTypes: ["mark", "function", "gc"] }); performance.mark("x");
    const registry = new FinalizationRegistry(keep); registry.register({}, 1);
    const inspected = { [Symbol.for("nodejs.util.inspect.custom")]: keep, toJSON: keep, toString: keep };
    m.inspect(inspected); console.log(inspected); console.error(new Proxy({}, { get: keep}));
    handed.push(await client.get(MAPS, AT), await client.list(MAPS).catch((error) => error));
    await clock.sleep(30); clearInterval(each);
    const sites = [];
    try { Error.prepareStackTrace = (_, all) => { sites.push(...all.flatMap((site) => [site, site.getThis(), site.getFunction()])); return ""; }; } catch {}
    void new Error().stack;
    await Promise.all([new Promise((resolve) => setTimeout(() => { void new Error().stack; resolve(); }, 1)),
      new Promise((resolve) => m.randomBytes(8, () => { void new Error().stack; resolve(); })), blob.text().then(() => void new Error().stack)]);
    return { found: natives([globalThis, MODULES, own, call, this, import.meta, natives, handed, sites, timer, immediate, emitter, hash, abort, late,
      channel, blob, observer, registry, m.webcrypto, m.generateKeyPairSync("ec", { namedCurve: "P-256" }), new URL("http://a/?b"), (async () => {})(),
      (function* () {})(), (async function* () {})(), new Intl.Segmenter().segment("a")[Symbol.iterator](), structuredClone({ a: new Map([[1, new Error("x")]]) })]) };`);
  expect(found).toEqual({ found: [] });
});

test.skipIf(process.platform !== "linux")(
  "libuv has made no object of the process's output and pipe, used or not",
  async () => {
    const seen: boolean[] = [];
    await ran(`console.log("x"); console.error("y"); await client.get(MAPS, AT); return {};`, "", (folder) =>
      seen.push(waits(folder, 1), waits(folder, 2), waits(folder, 3)),
    );
    expect(seen).toEqual([true, true, true]);
  },
);

test("all that globals and imports lead to is frozen, but the global object for names of the plugin's own", async () => {
  const found = await ran(
    `const open = []; const seen = new Set([globalThis]); const ways = MODULES.map((each, at) => [each, "m" + at]);
    for (const name of Reflect.ownKeys(globalThis)) {
      const { configurable, writable, value } = Object.getOwnPropertyDescriptor(globalThis, name);
      if (configurable || writable) open.push(name);
      ways.push([value, String(name)]);
    }
    for (let next = ways.pop(); next !== undefined; next = ways.pop()) {
      const [value, way] = next;
      if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
      seen.add(value);
      if (Object.isExtensible(value)) open.push(way);
      ways.push([Object.getPrototypeOf(value), way + ".__proto__"]);
      for (const key of Reflect.ownKeys(value)) {
        const { configurable, writable, value: held, get, set } = Object.getOwnPropertyDescriptor(value, key);
        // Nobody writes to a module's own object, although its properties are called writable.
        if (configurable || (writable && typeof held === "function" && !MODULES.includes(value))) open.push(way + "." + String(key));
        for (const each of [held, get, set]) ways.push([each, way + "." + String(key)]);
      }
    }
    return { open, seen: seen.size > 3000 };`,
  );
  expect(found).toEqual({ open: [], seen: true });
});

test("the process that Node's own code goes on to use signals nobody, loads nothing and has no output of its own", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-reach-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const module = join(folder, "probe.mjs");
  await writeFile(
    module,
    `import { writeSync } from "node:fs";
import { lockDown } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "child/lockdown.ts")).href)};
const own = process;
await lockDown();
const names = ["kill", "_kill", "_debugProcess", "binding", "_linkedBinding", "getBuiltinModule", "dlopen", "execve", "report", "chdir", "loadEnvFile",
  "stdin", "stdout", "stderr", "_getActiveHandles", "_getActiveRequests", "getActiveResourcesInfo", "umask", "setuid", "openStdin"];
writeSync(3, JSON.stringify({ type: "done", result: { there: names.filter((name) => own[name] !== undefined) } }) + "\\n");
`,
  );
  const outcome = await runPlugin(
    {
      ...{ module, operation: "x", params: {}, startedAt: new Date(), timeLimitMs: 60_000 },
      command: [...childCommand(folder).slice(0, -1), module],
    },
    { clock: systemClock, answer: async () => ({ ok: true, value: undefined }), ended: () => undefined },
    AbortSignal.timeout(60_000),
  );
  expect(outcome).toEqual({ type: "done", result: { there: [] } });
});

test("a setter under any name that Node.js sets, on any prototype, is handed nothing of Node's own", async () => {
  const names = namesThatNodeSets();
  expect(names).toEqual(expect.arrayContaining(["handle", "oncomplete", "onread", "_handle", "callback"]));
  const found = await ran(
    `const caught = new Set();
    const held = new Set([call, client, clock]);
    const targets = [Object, Function, Array, Promise, Error, Map, Set, String, RegExp, Symbol, Uint8Array, ArrayBuffer, Date, WeakMap, m3.EventEmitter, Buffer,
      EventTarget, AbortSignal, Event, URL].map((each) => each.prototype);
    targets.push(...MODULES, ...MODULES.map((each) => each.default), Object.getPrototypeOf(m2.Hash.prototype), Object.getPrototypeOf(async () => {}));
    let planted = 0;
    const act = async () => { console.log("x"); const asked = client.get(MAPS, AT); setTimeout(() => undefined, 0); await asked; };
    for (const name of NAMES) {
      const kept = [];
      for (const target of targets) {
        if (Object.hasOwn(target, name)) continue;
        try {
          Object.defineProperty(target, name, { configurable: true,
            set(value) { caught.add(this); caught.add(value); Object.defineProperty(this, name, { value, writable: true, configurable: true, enumerable: true }); } });
          kept.push(target);
        } catch {}
      }
      planted += kept.length;
      if (kept.length > 0) await act();
      for (const target of kept) delete target[name];
    }
    await act();
    return { found: natives([...caught].filter((each) => !held.has(each))), planted };`,
    `const NAMES = ${JSON.stringify(names)};`,
  );
  expect(found).toEqual({ found: [], planted: 0 });
});

test("a plugin that plants a setter for a handle connects to no socket and makes no listener", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-sockets-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "daemon.sock");
  const listener = join(folder, "listener.sock");
  let connections = 0;
  const daemon = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => daemon.listen(path, resolve));
  onTestFinished(() => void daemon.close());
  const found = await ran(
    `console.log("x"); await client.get(MAPS, AT); await clock.sleep(20);
    const seen = [...caught];
    for (const each of seen) try {
      const Pipe = (each.handle ?? each).constructor;
      const Write = each.constructor;
      const pipe = new Pipe(0);
      pipe.connect(new Write(), ${JSON.stringify(path)});
      const other = new Pipe(1); other.bind(${JSON.stringify(listener)}); other.listen(1);
    } catch {}
    await clock.sleep(200);
    return { seen: seen.length };`,
    `const caught = new Set();
    for (const name of ["handle", "oncomplete", "async", "buffer", "bytes", "callback", "error"]) try {
      Object.defineProperty(Object.prototype, name, { configurable: true,
        set(value) { caught.add(this); Object.defineProperty(this, name, { value, writable: true, configurable: true }); } });
    } catch {}`,
  );
  expect([found, connections, existsSync(listener)]).toEqual([{ seen: 0 }, 0, false]);
});
