import type { DeploymentConfig } from "../../contract/deployments/sync.ts";
import type { ReleaseObject } from "../../crds/kinds/release-content.ts";

/** What the renderer is given. The configuration has secrets in clear: it is passed on and not kept. */
export interface RenderInput {
  readonly stack: Readonly<Record<string, unknown>>;
  readonly config: DeploymentConfig;
  readonly deploymentId: string;
  readonly releaseId: string;
  readonly version: string;
  readonly grantsNamespace: string;
  /** Opened ones that the customer accepts the deployment for; the first is the default. */
  readonly namespaces: readonly string[];
}

export interface RenderProblem {
  readonly path: string;
  readonly message: string;
  readonly code: string;
}

export type Rendered =
  | { readonly ok: true; readonly objects: readonly ReleaseObject[]; readonly configHash: string }
  | { readonly ok: false; readonly problems: readonly RenderProblem[] };

export type Render = (input: RenderInput) => Rendered;
