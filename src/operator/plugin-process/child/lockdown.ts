import { deserialize, getHeapStatistics, serialize } from "node:v8";
import { NODE_MODULES } from "../../../plugins/module-imports.ts";
import { channel } from "./channel.ts";
import { freezeReachable } from "./freeze.ts";

/**
 * Takes away what Node's permission model does not limit: signals to other processes (the operator has the same user),
 * built-in modules without an import, and what opens connections. This process has no socket, pipe or stream of Node's, and all that
 * the plugin can reach is frozen, so that it cannot make Node's own code hand it such an object. It is no wall against code that
 * breaks Node.js itself: a boundary of the operating system is, or the operator's pod.
 */
export async function lockDown(): Promise<void> {
  const own = globalThis as unknown as Record<string, unknown>;
  for (const name of NETWORK) delete own[name];
  // Before the modules are loaded: one of them looks whether the output has colours, which would open it.
  for (const name of ["stdin", "stdout", "stderr"]) takeFrom(process, name);
  const modules: unknown[] = await Promise.all(NODE_MODULES.map((name) => import(name)));
  const { version, versions, platform, arch, hrtime, nextTick } = process;
  const harmless = {
    version,
    versions,
    platform,
    arch,
    hrtime,
    nextTick,
    memoryUsage: memoryUsage.bind(undefined, process.memoryUsage.bind(process)),
    env: {},
    argv: [],
    execArgv: [],
  };
  disarm();
  replace("process", Object.freeze(harmless));
  replace("console", quietConsole());
  // Node's own hands objects over to another thread, with ports.
  replace("structuredClone", (value: unknown): unknown => deserialize(serialize(value)));
  freezeReachable([globalThis, modules]);
}

/** Inside of a boundary there is no `/proc`, where Node.js reads the first number. */
function memoryUsage(ofProcess: () => NodeJS.MemoryUsage): NodeJS.MemoryUsage {
  try {
    return ofProcess();
  } catch {
    const { total_heap_size: heapTotal, used_heap_size: heapUsed, external_memory: external } = getHeapStatistics();
    return { rss: heapTotal + external, heapTotal, heapUsed, external, arrayBuffers: 0 };
  }
}

/** Of the true `process`: what Node's own code goes on to use, and none of which reaches another process, a file or a module. */
const KEPT: ReadonlySet<string> = new Set([
  ...["_exiting", "_fatalException", "_rawDebug", "_tickCallback", "cwd", "emitWarning", "exit", "hrtime"],
  ...["memoryUsage", "nextTick", "reallyExit", "sourceMapsEnabled", "uptime"],
]);

function disarm(): void {
  for (const [name, { configurable, get, value }] of Object.entries(Object.getOwnPropertyDescriptors(process))) {
    const acts = get !== undefined || typeof value === "function";
    if (acts && configurable === true && !KEPT.has(name)) takeFrom(process, name);
  }
}

/** Writable: Node's own code sets some of these anew. */
function takeFrom(owner: object, name: string): void {
  Object.defineProperty(owner, name, { value: undefined, writable: true, configurable: false, enumerable: false });
}

const NETWORK = [
  ...["fetch", "Request", "Response", "Headers", "FormData", "WebSocket", "EventSource", "CloseEvent", "MessageEvent"],
  ...["BroadcastChannel", "MessageChannel", "MessagePort", "Worker", "navigator", "Navigator"],
];

function replace(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: false, configurable: false, enumerable: false });
}

/** The words of a plugin for its author. The operator counts them and logs the beginning, redacted. */
function quietConsole(): object {
  const say = (...words: readonly unknown[]): void => {
    channel.print(`${words.map((word) => (typeof word === "string" ? word : text(word))).join(" ")}\n`);
  };
  return Object.freeze({ log: say, info: say, warn: say, error: say, debug: say, trace: say });
}

function text(value: unknown): string {
  try {
    return value instanceof Error ? value.message : (JSON.stringify(value) ?? String(value));
  } catch {
    return "what cannot be shown";
  }
}
