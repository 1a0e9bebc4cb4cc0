import { isRecord } from "../../../base/is-record.ts";
import { redactText } from "../../../crds/redact.ts";
import type { Operation, PluginClock } from "../../../plugin-api/index.ts";
import type { FromChild, ToChild } from "../messages.ts";
import { channel } from "./channel.ts";
import { limitImports } from "./imports.ts";
import { lockDown } from "./lockdown.ts";
import { placeOf } from "./place.ts";
import { CallingClient } from "./plugin-client.ts";

// The first file of a plugin's process: it takes the one order, runs the one operation or only loads the module, says how it ended. Everything that the
// plugin can reach is set up before its module is loaded; the operator trusts nothing of what comes out.

/** No operation runs for longer. */
const LONGEST_SLEEP_MS = 300_000;

const exit = process.exit.bind(process);
const client = new CallingClient();

channel.listen(
  (message) => {
    if (message.type === "run" || message.type === "load") void obey(message);
    else client.answered(message);
  },
  () => exit(1),
);

type RunOrder = Extract<ToChild, { type: "run" }>;
type Order = RunOrder | Extract<ToChild, { type: "load" }>;

async function obey(order: Order): Promise<void> {
  const fail = (error: unknown): void => channel.send(failureOf(error, order.module));
  // Of a request without `await`, or of a timer: Node.js would end the process, and nothing would say why.
  process.on("unhandledRejection", fail);
  process.on("uncaughtException", fail);
  try {
    await lockDown();
    limitImports(order.module, order.api);
    const module: { readonly default?: unknown } = await import(order.module);
    const operations = isRecord(module.default) ? module.default : {};
    const done = order.type === "run" ? resultOf(order, operations) : functionsOf(operations);
    channel.send({ type: "done", result: await done });
  } catch (error) {
    fail(error);
  }
}

function failureOf(error: unknown, module: string): Extract<FromChild, { type: "failed" }> {
  try {
    const how = error instanceof Error && error.name === "OperationError" ? "said" : "crashed";
    const message = String(error instanceof Error ? error.message : error).slice(0, 4_096);
    const at = placeOf(error, module);
    return { type: "failed", how, message, ...(at !== undefined && { at }) };
  } catch {
    // The plugin's own code runs when what it has thrown is read. An error from here would end this process, which would wait for its last read first.
    return { type: "failed", how: "crashed", message: "it threw what cannot be shown" };
  }
}

function functionsOf(operations: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const typesOf = (operation: unknown): object => {
    const { bind, run, verify } = isRecord(operation) ? operation : {};
    return { bind: typeof bind, run: typeof run, verify: typeof verify };
  };
  return Object.fromEntries(Object.entries(operations).map(([name, operation]) => [name, typesOf(operation)]));
}

async function resultOf(
  order: RunOrder,
  operations: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
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
  const result = operation.verify === undefined || !order.verifies ? done : await operation.verify(call, done);
  const { unanswered } = client;
  if (unanswered !== undefined) {
    throw new Error(`it ended before its request ${unanswered} was answered: client.${unanswered}(…) lacks an await`);
  }
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
