import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { UsageError } from "../../src/cli/kernel/command.ts";

export interface StoryOptions {
  /** Approve with the approver's own credentials; do not wait for a person. */
  readonly approve: boolean;
  /** End after the story; the exit code says whether all of it was verified. */
  readonly exit: boolean;
  /** The cluster to use instead of one of our own. */
  readonly kubeconfig: string | undefined;
  /** The folder for all files of this run. */
  readonly folder: string;
}

export const HELP = `usage: npm start -- [--approve] [--exit] [--kubeconfig FILE] [--dir FOLDER]

Starts the vendor's platform, a Kubernetes control plane, the customer's agent and operator, and a workload on this
machine; then plays the story that Sallyport exists for: an engineer asks, the customer decides, the operator acts, both
sides have it on record. Then a release is let in, and another one, which does not come up, is taken back. Stays up until
Ctrl-C.

  --approve           approve with the approver's own credentials; without it the line to type is shown and waited for
  --exit              end after the story: 0 only if each step was verified from the API server and the platform
  --kubeconfig FILE   use the current context of FILE instead of a control plane of our own. Installs Sallyport and a
                      sample workload there, approves as you, and says afterwards how to remove it. No other cluster
                      is ever used: KUBECONFIG and ~/.kube/config are not read.
  --dir FOLDER        where this run's data, credentials and logs lie (default: .sallyport; emptied at each start)
  --help              this text

The first start builds the Kubernetes programs and kwok with Go (about 5 minutes on 2 cores) into
\${XDG_CACHE_HOME:-~/.cache}/sallyport. KUBEBUILDER_ASSETS, or fitting programs on the PATH, are used instead.
`;

/** @throws UsageError */
export function parseOptions(args: readonly string[]): StoryOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      allowPositionals: false,
      options: {
        approve: { type: "boolean", default: false },
        exit: { type: "boolean", default: false },
        kubeconfig: { type: "string" },
        dir: { type: "string", default: ".sallyport" },
      },
    });
    return {
      approve: values.approve,
      exit: values.exit,
      kubeconfig: values.kubeconfig === undefined ? undefined : resolve(values.kubeconfig),
      folder: resolve(values.dir),
    };
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}. See npm start -- --help`, {
      cause: error,
    });
  }
}
