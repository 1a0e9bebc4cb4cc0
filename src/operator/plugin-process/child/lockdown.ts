import { Socket } from "node:net";

/**
 * Takes away what Node's permission model does not limit: signals to other processes (the operator has the same user),
 * built-in modules without an import, and what opens connections: by their names, and from the objects that Node.js itself
 * works with, which a plugin gets hold of when it patches a prototype. It is no wall against code that breaks Node.js itself:
 * token and files are kept from the process in other ways.
 */
export function lockDown(): void {
  const own = globalThis as unknown as Record<string, unknown>;
  for (const name of NETWORK) delete own[name];
  const { version, versions, platform, arch, hrtime, nextTick } = process;
  const { stderr } = process;
  const memoryUsage = process.memoryUsage.bind(process);
  const harmless = {
    version,
    versions,
    platform,
    arch,
    hrtime,
    nextTick,
    memoryUsage,
    env: {},
    argv: [],
    execArgv: [],
  };
  disarm();
  replace("process", Object.freeze(harmless));
  replace("console", quietConsole(stderr));
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
  // The pipe and the output are sockets.
  takeFrom(Socket.prototype, "connect");
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
function quietConsole(to: { write(text: string): unknown }): object {
  const say = (...words: readonly unknown[]): void => {
    to.write(`${words.map((word) => (typeof word === "string" ? word : text(word))).join(" ")}\n`);
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
