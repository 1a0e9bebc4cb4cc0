import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { isSecretOf } from "../../../crds/release-secret.ts";
import { usedBy } from "./planning/borrowed.ts";

/** Where the secret values of a configuration are read: by its name, in the namespace of the objects that name it. */
export interface SecretPlace {
  readonly name: string;
  readonly namespace: string;
}

const SECRET = "Secret/";

/** The Secrets of the deployment's configuration that these objects read, each once. */
export function secretsNamed(lines: readonly ReleaseObject[], deploymentId: string): readonly SecretPlace[] {
  const refs = new Set(lines.flatMap(({ manifest }) => usedBy(manifest)));
  return [...refs].sort().flatMap((ref) => {
    const { name, namespace } = placeOf(ref);
    return ref.startsWith(SECRET) && isSecretOf(deploymentId, name) ? [{ name, namespace }] : [];
  });
}

/** `Secret/shop/cfg-…`. */
export function refOfPlace({ name, namespace }: SecretPlace): string {
  return `${SECRET}${namespace}/${name}`;
}

function placeOf(ref: string): SecretPlace {
  const [, namespace = "", name = ""] = ref.split("/", 3);
  return { name, namespace };
}
