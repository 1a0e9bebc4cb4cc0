import { readFileSync } from "node:fs";
import type { ProductImage } from "./product-image.ts";

/** Environment variable: path of the file with the {@link Scene}. main.ts sets it for the tests. */
export const SCENE_FILE = "SALLYPORT_E2E_SCENE";

export const APPROVER = "robin@customer.example";

/** What the tests need to know of what main.ts has built. Plain data, because they are other processes. */
export interface Scene {
  readonly folder: string;
  /** Environment for docker. */
  readonly docker: Readonly<Record<string, string>>;
  readonly cluster: {
    readonly name: string;
    /** Path of a kubeconfig; may do everything. */
    readonly adminKubeconfig: string;
    /** Path of a kubeconfig of {@link APPROVER}. */
    readonly approver: string;
    readonly controlPlaneAddress: string;
  };
  readonly programs: { readonly kubectl: string; readonly helm: string };
  /** For customers' clusters; loaded onto each node. */
  readonly image: ProductImage;
  readonly platformImage: ProductImage;
  readonly vendor: VendorScene;
}

export interface VendorScene {
  /** https, as the agent sees it. */
  readonly url: string;
  /** PEM of the private authority that signed its certificate. */
  readonly authority: string;
  /** See front.ts. */
  readonly control: string;
  /** The same without TLS, on this machine only. */
  readonly directUrl: string;
  readonly project: string;
  readonly deploymentId: string;
  readonly managerId: string;
  readonly keyFiles: { readonly engineer: string; readonly admin: string; readonly runtime: string };
}

/** Containers of the nodes that run pods of ours: the control plane takes none. */
export function workersOf({ cluster }: Pick<Scene, "cluster">): readonly string[] {
  return [`${cluster.name}-worker`, `${cluster.name}-worker2`];
}

export function nodesOf(scene: Pick<Scene, "cluster">): readonly string[] {
  return [`${scene.cluster.name}-control-plane`, ...workersOf(scene)];
}

export function readScene(): Scene {
  const file = process.env[SCENE_FILE];
  if (file === undefined) throw new Error("these tests need a kind cluster around them: npm run test:e2e");
  return JSON.parse(readFileSync(file, "utf8"));
}
