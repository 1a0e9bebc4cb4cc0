import type { Cluster } from "../../lab/cluster/cluster.ts";
import { DEFAULT_NAMES, type InstallationNames } from "../../src/crds/group.ts";
import type { Manifest } from "../../src/crds/manifest.ts";
import { defaultPolicy } from "../../src/crds/manifests/default-policy.ts";
import {
  installation,
  openDebugSessions,
  openMachines,
  openNamespace,
  openReleases,
} from "../../src/crds/manifests/installation.ts";
import { approvers, SHOP } from "./people.ts";

// What a test's cluster may hold before its first test: `useCluster({ holds: INSTALLED })`. Worlds apply the same objects, of
// which a cluster leaves out what it holds. So the API server compiles the policies once a worker and not once a file.

/** Sallyport as its chart installs it, with nothing switched on. */
export const INSTALLED: readonly Manifest[] = installed(DEFAULT_NAMES);

export const WITH_DEBUG: readonly Manifest[] = [...INSTALLED, ...openDebugSessions()];

export const WITH_RELEASES: readonly Manifest[] = [...INSTALLED, ...openReleases()];

export const WITH_MACHINES: readonly Manifest[] = [...INSTALLED, ...openMachines()];

function installed(names: InstallationNames): readonly Manifest[] {
  const { crds, rbac, policies } = installation(names);
  return [...crds, ...rbac, ...policies];
}

/** Sallyport, the shop opened to it, and `more` that is switched on. */
export async function install(
  cluster: Pick<Cluster, "apply">,
  {
    names = DEFAULT_NAMES,
    more = [],
  }: { readonly names?: InstallationNames; readonly more?: readonly Manifest[] } = {},
  signal?: AbortSignal,
): Promise<void> {
  await cluster.apply([...installed(names), namespace(SHOP), ...openNamespace(SHOP, names), ...more], signal);
}

/** How the customer decides: reads run by themselves, and one person approves the rest. */
export function customersRules(names: InstallationNames = DEFAULT_NAMES): readonly Manifest[] {
  return [approvers(names), defaultPolicy(names, { "read-only": "auto" })];
}

export function namespace(name: string): Manifest {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

/** A Deployment of the customer's. The value of its variable must never leave the cluster. */
export function workload(name: string, { namespace = SHOP, replicas = 1 } = {}): Manifest {
  const labels = { app: name };
  const env = [{ name: "DB_PASSWORD", value: "canary-7c1f" }];
  const template = { metadata: { labels }, spec: { containers: [{ name, image: `registry.example/${name}:1`, env }] } };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: { replicas, selector: { matchLabels: labels }, template },
  };
}
