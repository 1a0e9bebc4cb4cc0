import { access } from "node:fs/promises";
import { type Clock, sleep } from "../../../base/clock.ts";
import { DeadlineError, withDeadline } from "../../../base/deadline.ts";
import { isRecord } from "../../../base/is-record.ts";
import { orAborted } from "../../../base/or-aborted.ts";
import type { Environment } from "../../../base/settings.ts";
import { redactText } from "../../../crds/redact.ts";
import { Client } from "../../../kube/client/client.ts";
import { connect } from "../../../kube/client/connection.ts";
import type { Operation, OperationCall, Params } from "../../../plugin-api/index.ts";
import type { PluginOperation } from "../../../plugins/metadata.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { kubeconfigPaths } from "../../kernel/kubeconfig-paths.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { TrialClient } from "./trial-client.ts";

export interface Trial {
  readonly operation: PluginOperation;
  readonly code: Operation;
  readonly params: Params;
  readonly apply: boolean;
  readonly clock: Clock;
  readonly tell: (line: string) => void;
}

export interface TrialResult {
  readonly result: Params;
  /** Words of the result that the metadata does not declare: they do not leave the cluster. */
  readonly dropped: readonly string[];
  readonly verified: boolean;
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

/** Runs one operation once, against the API server of a kubeconfig. @throws FriendlyError in words for the author */
export async function runTrial(
  trial: Trial,
  cluster: { readonly kubeconfig: readonly string[]; readonly context: string | undefined },
  signal: AbortSignal,
): Promise<TrialResult> {
  const { kubeconfig, context } = cluster;
  const connection = await connect({
    kubeconfig,
    ...(context !== undefined && { context }),
    userAgent: "sallyport-plugin-test",
  }).catch((cause: unknown) => {
    throw new FriendlyError(cause instanceof Error ? cause.message : String(cause), { cause });
  });
  try {
    const { exchange } = new Client(connection, { clock: trial.clock });
    const limitMs = trial.operation.timeLimitSeconds * 1_000;
    return await withDeadline(trial.clock, limitMs, signal, async (until) => {
      const { operation, apply, tell } = trial;
      const namespace = String(trial.params.namespace);
      const client = new TrialClient({ exchange, operation, namespace, apply, tell, signal: until });
      // A plugin that ignores its signal would keep this program for ever.
      return await orAborted(run(trial, client, until), until);
    });
  } catch (error) {
    throw friendly(error, trial);
  } finally {
    await connection.close();
  }
}

async function run(trial: Trial, client: TrialClient, signal: AbortSignal): Promise<TrialResult> {
  const { operation, code, apply, clock } = trial;
  const call: OperationCall = {
    client,
    params: code.bind === undefined ? trial.params : code.bind(trial.params),
    clock: { now: () => clock.wallNow(), sleep: (ms) => sleep(clock, ms, signal) },
    signal,
    redact: (text) => redactText(text, () => undefined),
    startedAt: clock.wallNow(),
  };
  const done = await code.run(call);
  // A dry run has changed nothing that could be read back.
  const verified = code.verify !== undefined && (apply || operation.tier === "read-only");
  const last: unknown = verified ? await code.verify?.(call, done) : done;
  // The operator calls such a run failed, or unknown when something was changed.
  if (!isRecord(last))
    throw new FriendlyError(`${operation.name} gave no object as its result: return one, {} at least`);
  const entries = Object.entries(last);
  const isDeclared = ([word]: readonly [string, unknown]) => Object.hasOwn(operation.result, word);
  return {
    result: Object.fromEntries(entries.filter(isDeclared)),
    dropped: entries.filter((entry) => !isDeclared(entry)).map(([word]) => word),
    verified,
  };
}

/** By their names: the plugin may have installed its own copy of the package. */
function friendly(error: unknown, { operation }: Trial): unknown {
  if (error instanceof DeadlineError) {
    return new FriendlyError(`${operation.name} was not done within its ${operation.timeLimitSeconds} s`, {
      cause: error,
    });
  }
  if (!(error instanceof Error) || error instanceof FriendlyError) return error;
  if (error.name === "OperationError") {
    const { code: exitCode } = EXIT_CODES.notRun;
    return new FriendlyError(`${operation.name} says no: ${error.message}`, { cause: error, exitCode });
  }
  if (error.name === "ApiError" && "status" in error) {
    return new FriendlyError(`the API server refuses it (${error.status}): ${error.message}`, { cause: error });
  }
  return error.name === "AbortError" ? error : new FriendlyError(error.stack ?? error.message, { cause: error });
}
