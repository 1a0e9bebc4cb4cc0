import type { Manifest } from "../../src/crds/manifests/manifest.ts";
import type { Program } from "../cluster/program.ts";

export interface KubectlAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The customer's cluster: our own control plane, or one that the person named. */
export interface Target {
  /** For the panel: address and version. */
  readonly description: string;
  readonly server: string;
  /** Path; may do everything that installing needs. */
  readonly adminKubeconfig: string;
  /** The person who decides. */
  readonly approver: { readonly user: string; readonly kubeconfig: string };
  /** Where the sample workload goes. */
  readonly workloadNamespace: string;
  /** Absolute path. */
  readonly kubectlPath: string;
  kubectl(
    args: readonly string[],
    options: { readonly kubeconfig?: string; readonly stdin?: string },
    signal: AbortSignal,
  ): Promise<KubectlAnswer>;
  /** In order, waiting for new kinds to be served. */
  apply(manifests: readonly Manifest[], signal: AbortSignal): Promise<void>;
  /** Path of a kubeconfig with a token of this ServiceAccount and nothing else. */
  serviceAccountKubeconfig(namespace: string, name: string, signal: AbortSignal): Promise<string>;
  /** What the API server itself wrote down of changes to workloads; undefined where we do not run it. */
  readonly auditLog?: string;
  /** Told if a program of it ends by itself. */
  readonly programs: readonly Program[];
  /** How to remove what we installed, when the cluster outlives us. */
  readonly removal?: readonly string[];
  stop(): Promise<void>;
}
