import { type ParseArgsConfig, parseArgs } from "node:util";
import { DEFAULT_NAMES } from "../../crds/group.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { Client } from "../../kube/client/client.ts";
import { connect } from "../../kube/client/connection.ts";
import { FriendlyError, UsageError } from "../kernel/command.ts";
import { kubeconfigPaths } from "../kernel/kubeconfig-paths.ts";
import { escaped } from "../kernel/output.ts";

/** Exit codes; the same numbers as in all of this program. */
export const CODES = { done: 0, failed: 1, usage: 2, refused: 4, notFound: 5, conflict: 6, unavailable: 7 } as const;

/** Where a person's own cluster is, as kubectl's flags say it. */
const CLUSTER_FLAGS = {
  namespace: { type: "string", short: "n", default: DEFAULT_NAMES.grantsNamespace },
  kubeconfig: { type: "string" },
  context: { type: "string" },
} as const;

export const CLUSTER_FLAGS_HELP = `  -n, --namespace NAME  where requests live; default ${DEFAULT_NAMES.grantsNamespace}
  --kubeconfig FILE     default: the files of KUBECONFIG, which are one, then ~/.kube/config
  --context NAME        default: the current one
`;

interface ClusterFlags {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/** @throws UsageError that names the command whose help says more */
export function typed<const T extends NonNullable<ParseArgsConfig["options"]>>(
  command: string,
  args: readonly string[],
  options: T,
) {
  try {
    return parseArgs({ args: [...args], options: { ...CLUSTER_FLAGS, ...options }, allowPositionals: true });
  } catch (error) {
    const words = error instanceof Error ? error.message.replace(/\. To specify.*$/s, "") : String(error);
    throw new UsageError(`${words}. See ${command} --help`, { cause: error });
  }
}

/** Runs `work` with the person's own kubeconfig and rights. @throws FriendlyError in words for that person */
export async function inCluster<T>(
  { kubeconfig, context }: ClusterFlags,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  try {
    const connection = await connect({
      kubeconfig: kubeconfig ?? kubeconfigPaths(process.env),
      ...(context !== undefined && { context }),
      userAgent: "kubectl-sallyport",
    });
    try {
      return await work(new Client(connection));
    } finally {
      await connection.close();
    }
  } catch (error) {
    throw friendly(error);
  }
}

function friendly(error: unknown): unknown {
  if (error instanceof ApiError) {
    return new FriendlyError(escaped(wordsOf(error), ""), { cause: error, exitCode: exitCodeOf(error) });
  }
  if (!(error instanceof Error) || error instanceof FriendlyError || error instanceof UsageError) return error;
  if (error.name === "AbortError") return new UsageError("stopped; nothing was done", { cause: error });
  if ("code" in error && error.code === "ENOENT" && "path" in error) {
    return new FriendlyError(`there is no kubeconfig ${error.path}: name one with --kubeconfig`, { cause: error });
  }
  // A kubeconfig that is unusable: the message is enough, without a stack trace.
  const isOfKubeconfig = error.message.startsWith("kubeconfig ") || "code" in error;
  return isOfKubeconfig ? new FriendlyError(escaped(error.message, ""), { cause: error }) : error;
}

function wordsOf(error: ApiError): string {
  if (error.status === 0) return `the API server cannot be reached: ${error.message}`;
  // Of a kind that the server does not know it says no more than that; else which object is missing.
  const isOfKind = error.isNotFound && error.body?.details?.name === undefined;
  if (isOfKind) return "this cluster has no Sallyport: is it the right --context?";
  return error.body?.message ?? error.message;
}

function exitCodeOf(error: ApiError): number {
  if (error.isForbidden || error.isUnauthorized) return CODES.refused;
  if (error.isTransient) return CODES.unavailable;
  if (error.isNotFound) return CODES.notFound;
  return error.isConflict || error.isInvalid ? CODES.conflict : CODES.failed;
}
