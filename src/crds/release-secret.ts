import { createHash, createHmac } from "node:crypto";
import { objectName } from "./group.ts";

/** Secrets with the secret values of one configuration have names that begin so. */
export const RELEASE_SECRET_PREFIX = "cfg-";
/** Hexadecimal digits of the name's end: 128 bits. */
const NAME_DIGITS = 32;
/** What follows the deployment's part of such a name. Policies use both patterns in CEL. */
export const RELEASE_SECRET_END: RegExp = new RegExp(`^[0-9a-f]{${NAME_DIGITS}}$`);
/** What a policy takes as such a name. */
export const RELEASE_SECRET: RegExp = new RegExp(
  `^${RELEASE_SECRET_PREFIX}[a-z0-9][-a-z0-9]*-[0-9a-f]{${NAME_DIGITS}}$`,
);
/** Beside the values: without it no name can be computed from guessed values. No variable has this name. */
export const NONCE_KEY = ".nonce";
/** Of all values of one configuration together, in bytes; the API server takes 1 MiB. */
export const MAX_SECRET_BYTES: number = 256 * 1024;
/** Values of one configuration. */
export const MAX_SECRET_VALUES = 500;

/** In the agent's namespace: what makes the names of these Secrets unguessable. The agent fills it. */
export const RELEASE_SALT_SECRET = "sallyport-release-salt";

/** By key, in base64 as the API server has them. */
export type SecretData = Readonly<Record<string, string>>;

/**
 * The data of a Secret with its nonce. The same values of one deployment have the same nonce, and the same name, in each
 * process that has the salt; without the salt the nonce is as good as random.
 */
export function withNonce(deploymentId: string, values: SecretData, salt: Uint8Array): SecretData {
  const nonce = createHmac("sha256", salt).update(spelled(deploymentId, values)).digest("base64");
  return { ...values, [NONCE_KEY]: nonce };
}

/**
 * The name that a Secret with this data has. It commits to the values and tells nothing of them: a reader who does not have
 * the nonce cannot try values out, and no other data fits the same name.
 */
export function releaseSecretName(deploymentId: string, data: SecretData): string {
  const digits = createHash("sha256").update(spelled(deploymentId, data)).digest("hex").slice(0, NAME_DIGITS);
  return `${secretPrefixOf(deploymentId)}${digits}`;
}

/** How the names of a deployment's Secrets begin. */
function secretPrefixOf(deploymentId: string): string {
  return `${RELEASE_SECRET_PREFIX}${objectName(deploymentId)}-`;
}

/** Whether a Secret of this name has values of the deployment's configuration. */
export function isSecretOf(deploymentId: string, name: string): boolean {
  const prefix = secretPrefixOf(deploymentId);
  return RELEASE_SECRET.test(name) && name.startsWith(prefix) && name.length === prefix.length + NAME_DIGITS;
}

function spelled(deploymentId: string, data: SecretData): string {
  const entries = Object.entries(data).sort(([one], [other]) => (one < other ? -1 : Number(one > other)));
  return JSON.stringify([deploymentId, entries]);
}
