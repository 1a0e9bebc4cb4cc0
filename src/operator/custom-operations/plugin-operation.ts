import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { NAMESPACE_NAME } from "../../crds/group.ts";
import type { Parsed } from "../../crds/operations/params.ts";
import { errorText, printableLine } from "../../crds/printable.ts";
import type { EnabledOperation } from "../../plugins/enabled-plugins.ts";
import type { PluginOperation } from "../../plugins/metadata.ts";
import { paramsIssues } from "../../plugins/params-fit.ts";
import { type BoundOperation, type Operation, OperationError, type OperationResult } from "../operations/operation.ts";
import { type Noise, runPlugin } from "../plugin-process/plugin-process.ts";
import { PluginCalls } from "./plugin-calls.ts";
import type { Turns } from "./turns.ts";

export interface PluginParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly turns: Turns;
}

export interface RunnablePlugin {
  readonly enabled: EnabledOperation;
  /** What the image has under this name. */
  readonly declared: PluginOperation;
  readonly module: string;
}

/** What is kept of the plugin's own output. */
const NOISE_CHARS = 512;

type Call = Parameters<BoundOperation["run"]>[0];

/**
 * An operation of a plugin, for the gate and the runner like each of ours. Params are checked here; its code runs in a process of its
 * own, for one run and its verification, and has nothing but the pipe to {@link PluginCalls}.
 */
export function pluginOperation({ enabled, declared, module }: RunnablePlugin, parts: PluginParts): Operation {
  const { plugin, name, command, tier } = enabled;
  const timeLimitMs = declared.timeLimitSeconds * 1_000;
  const run = async (params: Readonly<Record<string, unknown>>, call: Call, signal: AbortSignal) => {
    const { client, effect, startedAt, redact } = call;
    const place = String(params.namespace);
    const calls = new PluginCalls({ client, effect, rules: enabled.rules, place });
    const leave = await parts.turns.take(signal);
    try {
      const outcome = await runPlugin(
        { module, operation: name, params, startedAt, timeLimitMs },
        {
          clock: parts.clock,
          answer: (asked, until) => calls.answer(asked, until),
          ended: (noise) => tell(noise, command, redact, parts.log),
        },
        signal,
      );
      // A request without an answer: the plugin's word for how it ended is no proof.
      if (calls.lostAnswer) throw new Error(`a request of ${command} got no answer`);
      if (outcome.type === "done") return declaredOnly(outcome.result, declared);
      const said = printableLine(outcome.message, NOISE_CHARS);
      throw outcome.how === "said" ? new OperationError(said) : new Error(`the code of ${command} failed: ${said}`);
    } finally {
      leave();
    }
  };
  return Object.freeze({
    ...{ plugin, name, command, tier, timeLimitMs },
    bind(params: Readonly<Record<string, unknown>>): Parsed<BoundOperation> {
      const problems = paramProblems(params, declared);
      if (problems.length > 0) return { ok: false, problems };
      const bound: BoundOperation = {
        namespace: String(params.namespace),
        object: undefined,
        run: (call, signal) => run(params, call, signal),
        // The plugin's own verification was part of the run, in the same process.
        verify: async (_, done) => done,
      };
      return { ok: true, params: bound };
    },
  });
}

function paramProblems(
  params: Readonly<Record<string, unknown>>,
  { paramsSchema }: PluginOperation,
): readonly string[] {
  const namespace = Object.hasOwn(params, "namespace") ? params.namespace : undefined;
  const isPlace = typeof namespace === "string" && NAMESPACE_NAME.test(namespace);
  return [
    ...(isPlace ? [] : ["namespace must be the name of a namespace"]),
    ...paramsIssues(paramsSchema, params).map(({ path, message }) => `params${path} ${message}`),
  ];
}

/** Everything else that the plugin says stays in the cluster: the customer saw these words in the plugin's description. */
function declaredOnly(result: Readonly<Record<string, unknown>>, { result: words }: PluginOperation): OperationResult {
  return Object.fromEntries(
    Object.keys(words).flatMap((word) => (Object.hasOwn(result, word) ? [[word, result[word]]] : [])),
  );
}

/** One line, for who looks for an error of a plugin: the beginning, printable and redacted. */
function tell({ bytes, head }: Noise, command: string, redact: (text: string) => string, log: Logger): void {
  if (bytes === 0) return;
  log.info({ command, bytes, head: redact(errorText(head, NOISE_CHARS)) }, "a plugin wrote to its output");
}
