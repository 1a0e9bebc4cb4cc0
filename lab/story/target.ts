import type { Manifest } from "../../src/crds/manifest.ts";
import type { Program } from "../cluster/program.ts";

/** Its answer lists `mutatingadmissionpolicies` only where the API server can stamp names. */
export const ADMISSION_API = "/apis/admissionregistration.k8s.io/v1";

export function listsStamping(discovery: string): boolean {
  return discovery.includes('"mutatingadmissionpolicies"');
}

export interface KubectlAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The customer's cluster: our own control plane, or one that the user of `npm start` named. */
export interface Target {
  /** For the panel: address and version. */
  readonly description: string;
  readonly server: string;
  /** Whether the API server can stamp the name of the person who decides: from Kubernetes 1.36 on. */
  readonly stamps: boolean;
  /** Path; may do everything that installing needs. */
  readonly adminKubeconfig: string;
  /** The person who decides, and their kubeconfig. */
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
  /** Applies in order, and waits until new kinds are served. */
  apply(manifests: readonly Manifest[], signal: AbortSignal): Promise<void>;
  /** Path of a kubeconfig with a token of this ServiceAccount and nothing else. */
  serviceAccountKubeconfig(namespace: string, name: string, signal: AbortSignal): Promise<string>;
  /** The API server's audit log of changes to workloads; undefined where the API server is not ours. */
  readonly auditLog?: string;
  /** Its programs: the run ends when one of them ends unexpectedly. */
  readonly programs: readonly Program[];
  /** How to remove what we installed, when the cluster stays. */
  readonly removal?: readonly string[];
  stop(): Promise<void>;
}
