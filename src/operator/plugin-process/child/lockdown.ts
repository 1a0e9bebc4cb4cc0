/**
 * Takes away what Node's permission model does not limit: signals to other processes (the operator has the same user),
 * built-in modules without an import, and what opens connections. It stops code that asks for them by their names. It is no
 * wall against code that breaks Node.js itself: token, files and the network are kept from the process in other ways.
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
  replace("process", Object.freeze(harmless));
  replace("console", quietConsole(stderr));
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
