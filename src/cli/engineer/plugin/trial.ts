import { access } from "node:fs/promises";
import { DeadlineError, withDeadline } from "../../../base/deadline.ts";
import type { Environment } from "../../../base/settings.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import { type Connection, connect } from "../../../kube/client/connection.ts";
import { PluginCalls } from "../../../operator/custom-operations/plugin-calls.ts";
import { Effect } from "../../../operator/operations/operation.ts";
import type { CallMessage } from "../../../operator/plugin-process/messages.ts";
import {
  type CallAnswer,
  type Noise,
  type PluginOutcome,
  runPlugin,
} from "../../../operator/plugin-process/plugin-process.ts";
import { MODULE_FILE, type PluginOperation } from "../../../plugins/metadata.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { kubeconfigPaths } from "../../kernel/kubeconfig-paths.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { inFolderOfItsOwn, type Loading } from "./module-loading.ts";
import { TRIAL_MANAGER, TrialClient } from "./trial-client.ts";

export interface Trial extends Loading {
  readonly operation: PluginOperation;
  /** The text of its code. */
  readonly module: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly apply: boolean;
  /** False: a dry run has changed nothing that could be read back. */
  readonly verifies: boolean;
  readonly tell: (line: string) => void;
}

export interface TrialResult {
  readonly result: Readonly<Record<string, unknown>>;
  /** Words of the result that the metadata does not declare: they do not leave the cluster. */
  readonly dropped: readonly string[];
}

/** The person's own kubeconfig; undefined when none is named and there is none where kubectl looks. */
export async function kubeconfigOf(
  named: string | undefined,
  env: Environment,
): Promise<readonly string[] | undefined> {
  if (named !== undefined) return [named];
  const paths = kubeconfigPaths(env);
  const found = await Promise.allSettled(paths.map((path) => access(path)));
  return found.some(({ status }) => status === "fulfilled") ? paths : undefined;
}

/**
 * Runs one operation once, in the process in which the operator runs it, and carries out its requests as the operator does, with the
 * rights of a kubeconfig. @throws FriendlyError in words for the author
 */
export async function runTrial(
  trial: Trial,
  cluster: { readonly kubeconfig: readonly string[]; readonly context: string | undefined },
  signal: AbortSignal,
): Promise<TrialResult> {
  const { kubeconfig, context } = cluster;
  const connection = await connect({
    kubeconfig,
    ...(context !== undefined && { context }),
    userAgent: TRIAL_MANAGER,
  }).catch((cause: unknown) => {
    throw new FriendlyError(cause instanceof Error ? cause.message : String(cause), { cause });
  });
  try {
    return await inFolderOfItsOwn(trial.module, (file) => run(trial, file, connection, signal));
  } finally {
    await connection.close();
  }
}

async function run(trial: Trial, module: string, connection: Connection, signal: AbortSignal): Promise<TrialResult> {
  const { operation, params, apply, verifies, clock, tell } = trial;
  const boundary = await trial.boundary();
  const client = new TrialClient(connection, { apply, tell }, { clock });
  const place = String(params.namespace);
  const calls = new PluginCalls({ client, effect: new Effect(), rules: operation.rules, place });
  let refused: Refusal | undefined;
  const answer = async (call: CallMessage, until: AbortSignal): Promise<CallAnswer> => {
    const answered = await calls.answer(call, until);
    if (!answered.ok) refused = answered;
    return answered;
  };
  const timeLimitMs = operation.timeLimitSeconds * 1_000;
  const order = {
    module,
    operation: operation.name,
    params,
    startedAt: clock.wallNow(),
    timeLimitMs,
    verifies,
    boundary,
  };
  let outcome: PluginOutcome;
  try {
    const ports = { clock, answer, ended: (noise: Noise) => tellNoise(noise, tell) };
    outcome = await withDeadline(clock, timeLimitMs, signal, (until) => runPlugin(order, ports, until));
  } catch (error) {
    throw signal.aborted ? error : friendly(error, operation);
  }
  if (outcome.type === "failed") throw failure(outcome, operation, refused);
  if (calls.lostAnswer)
    throw new FriendlyError(`a request of ${operation.name} got no answer: it may have changed something`);
  const entries = Object.entries(outcome.result);
  const isDeclared = ([word]: readonly [string, unknown]) => Object.hasOwn(operation.result, word);
  return {
    result: Object.fromEntries(entries.filter(isDeclared)),
    dropped: entries.filter((entry) => !isDeclared(entry)).map(([word]) => word),
  };
}

type Refusal = Extract<CallAnswer, { readonly ok: false }>;

/** What the code threw, as the operator tells it apart. */
function failure(
  { how, message, at }: Extract<PluginOutcome, { type: "failed" }>,
  { name }: PluginOperation,
  refused: Refusal | undefined,
): FriendlyError {
  if (how === "said") return new FriendlyError(`${name} says no: ${message}`, { exitCode: EXIT_CODES.notRun.code });
  const place = at === undefined ? "" : `${MODULE_FILE}:${at.line}:${at.column} `;
  if (refused?.message === message) {
    return new FriendlyError(`${place}a request of ${name} is refused (${refused.status}): ${message}`);
  }
  return new FriendlyError(`${place}the code of ${name} failed: ${message}`);
}

/** What ended the run from outside of the plugin. */
function friendly(cause: unknown, { name, timeLimitSeconds }: PluginOperation): FriendlyError {
  if (cause instanceof DeadlineError) {
    return new FriendlyError(`${name} was not done within its ${timeLimitSeconds} s: its process was ended`, { cause });
  }
  const words = cause instanceof Error ? cause.message : String(cause);
  if (cause instanceof ApiError) {
    const status = cause.status === 0 ? "" : ` (${cause.status})`;
    return new FriendlyError(`a request of ${name} is refused${status}: ${words}`, { cause });
  }
  return new FriendlyError(`${name} was ended as the operator would end it: ${words}`, { cause });
}

function tellNoise({ bytes, head }: Noise, tell: Trial["tell"]): void {
  if (bytes === 0) return;
  const kept = Buffer.byteLength(head);
  tell(`${MODULE_FILE} wrote ${bytes} bytes to its output${kept < bytes ? `, which begins` : ""}:`);
  for (const line of head.trimEnd().split("\n")) tell(`  ${line}`);
}
