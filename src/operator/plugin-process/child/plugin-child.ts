import { Socket } from "node:net";
import { isRecord } from "../../../base/is-record.ts";
import { redactText } from "../../../crds/redact.ts";
import type { Operation, PluginClock } from "../../../plugin-api/index.ts";
import { Lines } from "../lines.ts";
import type { FromChild, ToChild } from "../messages.ts";
import { limitImports } from "./imports.ts";
import { lockDown } from "./lockdown.ts";
import { CallingClient } from "./plugin-client.ts";

// The first file of a plugin's process: it takes the one order, runs the one operation, says how it ended. Everything that the
// plugin can reach is set up before its module is loaded; the operator trusts nothing of what comes out.

/** Answers come from the operator, which bounds them. */
const LONGEST_ANSWER_BYTES = 64 * 1_024 * 1_024;
const PIPE = 3;
/** No operation runs for longer. */
const LONGEST_SLEEP_MS = 300_000;

const pipe = new Socket({ fd: PIPE, readable: true, writable: true });
const exit = process.exit.bind(process);
const client = new CallingClient(pipe);
const lines = new Lines(LONGEST_ANSWER_BYTES);

pipe.on("data", (piece: Buffer) => {
  const taken = lines.take(piece);
  if (typeof taken === "string") return exit(1);
  for (const line of taken) {
    // Written by the operator's own end of this pipe.
    const message: ToChild = JSON.parse(line);
    if (message.type === "run") void run(message);
    else client.answered(message);
  }
});
// The operator has ended, or wants no more of this.
pipe.on("error", () => exit(1));
pipe.on("close", () => exit(1));

function say(message: FromChild): void {
  pipe.write(`${JSON.stringify(message)}\n`);
}

async function run(order: Extract<ToChild, { type: "run" }>): Promise<void> {
  try {
    lockDown();
    limitImports(order.module, import.meta.resolve("../../../plugin-api/index.ts"));
    say({ type: "done", result: await resultOf(order) });
  } catch (error) {
    const how = error instanceof Error && error.name === "OperationError" ? "said" : "crashed";
    say({ type: "failed", how, message: String(error instanceof Error ? error.message : error).slice(0, 4_096) });
  }
}

async function resultOf(order: Extract<ToChild, { type: "run" }>): Promise<Readonly<Record<string, unknown>>> {
  const module: { readonly default?: unknown } = await import(order.module);
  const operations = isRecord(module.default) ? module.default : {};
  const operation = Object.hasOwn(operations, order.operation) ? operations[order.operation] : undefined;
  if (!isOperation(operation)) throw new Error(`its module has no operation ${order.operation}`);
  const params = operation.bind === undefined ? order.params : operation.bind(order.params);
  const signal = AbortSignal.timeout(order.timeLimitMs);
  const call = {
    client,
    params,
    clock: clockUntil(signal),
    signal,
    redact: (text: string) => redactText(text, () => undefined),
    startedAt: new Date(order.startedAt),
  };
  const done = await operation.run(call);
  const result = operation.verify === undefined ? done : await operation.verify(call, done);
  if (!isRecord(result)) throw new Error(`operation ${order.operation} gave no object as its result`);
  return result;
}

/** Every other end than the time limit ends this process, and nothing here would hear of it. */
function clockUntil(signal: AbortSignal): PluginClock {
  return {
    now: () => new Date(),
    sleep: (ms) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, Math.min(Math.max(ms, 0), LONGEST_SLEEP_MS));
        const stop = (): void => {
          clearTimeout(timer);
          reject(signal.reason);
        };
        signal.addEventListener("abort", stop, { once: true });
      }),
  };
}

function isOperation(value: unknown): value is Operation<unknown> {
  if (!isRecord(value) || typeof value.run !== "function") return false;
  return [value.bind, value.verify].every((each) => each === undefined || typeof each === "function");
}
