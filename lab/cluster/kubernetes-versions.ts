import { FriendlyError } from "../../src/cli/kernel/command.ts";

/**
 * The Kubernetes versions that the tests run against, oldest first. `programs/<minor>.mod` fixes the modules of an
 * older one; those of the newest, which everything uses unless told otherwise, are in `programs/go.mod`.
 */
export const KUBERNETES_VERSIONS = { "1.30": "v1.30.14", "1.33": "v1.33.13", "1.36": "v1.36.3" } as const;

export type KubernetesMinor = keyof typeof KUBERNETES_VERSIONS;

export const NEWEST: KubernetesMinor = "1.36";

/** The only setting that chooses another version; read here and nowhere else. */
const SETTING = "SALLYPORT_KUBERNETES";

/**
 * What `SALLYPORT_KUBERNETES` says; undefined when it says nothing.
 *
 * @throws FriendlyError for a version that is not in the table
 */
export function chosenKubernetes(
  env: Readonly<Record<string, string | undefined>> = process.env,
): KubernetesMinor | undefined {
  const chosen = env[SETTING];
  if (chosen === undefined || chosen === "") return undefined;
  if (isKnown(chosen)) return chosen;
  const known = Object.keys(KUBERNETES_VERSIONS).join(", ");
  throw new FriendlyError(
    `${SETTING}=${chosen}: the programs can be built for Kubernetes ${known}, and for no other version.`,
  );
}

/** The environment of a child process that uses this version. */
export function environmentOf(minor: KubernetesMinor): Readonly<Record<string, string>> {
  return { [SETTING]: minor };
}

/** Without these flags the API server reports version 0.0.0, and clients misjudge what it can do. */
export function linkerFlags(version: string): string {
  return [
    "-s -w",
    `-X k8s.io/component-base/version.gitVersion=${version}`,
    `-X k8s.io/client-go/pkg/version.gitVersion=${version}`,
  ].join(" ");
}

function isKnown(text: string): text is KubernetesMinor {
  return Object.hasOwn(KUBERNETES_VERSIONS, text);
}
