import {
  MAX_SECRET_BYTES,
  MAX_SECRET_VALUES,
  releaseSecretName,
  type SecretData,
  withNonce,
} from "../../../crds/release-secret.ts";
import type { SecretGiven } from "./environment.ts";
import type { RenderProblem } from "./render-problem.ts";

/** The secret values of one configuration: the only place in which they leave the agent. */
export interface ConfigurationSecret {
  readonly name: string;
  /** In base64, with the nonce of the name. */
  readonly data: SecretData;
}

/** By resource: the secret values that it gets, by variable. */
export type SecretsOf = ReadonlyMap<string, ReadonlyMap<string, SecretGiven>>;

export interface MadeSecret {
  /** Undefined: nothing is secret, or there is a problem. */
  readonly secret: ConfigurationSecret | undefined;
  readonly problems: readonly RenderProblem[];
}

/** A name without a dot: what follows one in a key is a resource's id. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_KEY = 253;

/** One Secret for all resources: which key a resource reads is said in its own object. */
export function configurationSecret(deploymentId: string, found: SecretsOf, salt: Uint8Array): MadeSecret {
  const keyOf = secretKeys(found);
  const values = new Map<string, string>();
  const problems: RenderProblem[] = [];
  let bytes = 0;
  for (const [resourceId, variables] of found) {
    for (const [name, { value, path }] of variables) {
      const key = keyOf(resourceId, name);
      if (values.has(key)) continue;
      if (!VARIABLE.test(name) || key.length > MAX_KEY) {
        problems.push({ path, message: "goes into a variable whose name no Secret takes", code: "STACK_INVALID" });
      }
      values.set(key, Buffer.from(value).toString("base64"));
      bytes += Buffer.byteLength(value) + key.length;
    }
  }
  const path = "config.environmentVariables";
  if (bytes > MAX_SECRET_BYTES) {
    problems.push({ path, message: `have more than ${MAX_SECRET_BYTES} bytes that are secret`, code: "TOO_LARGE" });
  }
  if (values.size > MAX_SECRET_VALUES) {
    problems.push({ path, message: `have more than ${MAX_SECRET_VALUES} secret values`, code: "TOO_LARGE" });
  }
  if (values.size === 0 || problems.length > 0) return { secret: undefined, problems };
  const data = withNonce(deploymentId, Object.fromEntries(values), salt);
  return { secret: { name: releaseSecretName(deploymentId, data), data }, problems };
}

/** The variable's own name; where resources get different values for it, with the resource's id. */
export function secretKeys(found: SecretsOf): (resourceId: string, name: string) => string {
  const values = new Map<string, Set<string>>();
  for (const variables of found.values()) {
    for (const [name, { value }] of variables) values.set(name, (values.get(name) ?? new Set<string>()).add(value));
  }
  return (resourceId, name) => ((values.get(name)?.size ?? 0) > 1 ? `${name}.${resourceId}` : name);
}
