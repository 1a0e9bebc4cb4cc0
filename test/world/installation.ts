import type { Manifest } from "../../src/crds/manifest.ts";
import { installation, openDebugSessions, openMachines, openReleases } from "../../src/crds/manifests/installation.ts";

// What a test's cluster may hold before its first test: `useCluster({ holds: INSTALLED })`. Worlds apply the same objects, of
// which a cluster leaves out what it holds. So the API server compiles the policies once a worker and not once a file.

const { crds, rbac, policies } = installation();

/** Sallyport as its chart installs it, with nothing switched on. */
export const INSTALLED: readonly Manifest[] = [...crds, ...rbac, ...policies];

export const WITH_DEBUG: readonly Manifest[] = [...INSTALLED, ...openDebugSessions()];

export const WITH_RELEASES: readonly Manifest[] = [...INSTALLED, ...openReleases()];

export const WITH_MACHINES: readonly Manifest[] = [...INSTALLED, ...openMachines()];
