import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { isSecretOf } from "../../../crds/release-secret.ts";
import { fieldsOf, namedBy } from "../field-walk.ts";

/** Where the secret values of a configuration are read: by its name, in the namespace of the objects that name it. */
export interface SecretPlace {
  readonly name: string;
  readonly namespace: string;
}

/** The Secrets of the deployment's configuration that these objects read, each once. */
export function secretsNamed(lines: readonly ReleaseObject[], deploymentId: string): readonly SecretPlace[] {
  const refs = lines.flatMap(({ manifest }) =>
    namedBy(fieldsOf(manifest))
      .filter(({ kind, name }) => kind === "Secret" && isSecretOf(deploymentId, name))
      .map(({ name }) => refOfPlace({ name, namespace: manifest.metadata.namespace ?? "" })),
  );
  return [...new Set(refs)].sort().map(placeOf);
}

/** `Secret/shop/cfg-…`. */
export function refOfPlace({ name, namespace }: SecretPlace): string {
  return `Secret/${namespace}/${name}`;
}

function placeOf(ref: string): SecretPlace {
  const [, namespace = "", name = ""] = ref.split("/", 3);
  return { name, namespace };
}
