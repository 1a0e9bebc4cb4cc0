import { isSecretOf, RELEASE_SECRET_PREFIX } from "../release-secret.ts";
import { isNamed } from "./may-use.ts";

/** What a pod reads by name, and the value with which the customer lets releases read what they do not bring. */
export const READ_KINDS = {
  Secret: "secrets",
  ConfigMap: "configMaps",
  PersistentVolumeClaim: "volumeClaims",
} as const;
export type ReadKind = keyof typeof READ_KINDS;

/** Names, and beginnings of names that end with `*`. Nothing that is not named may be read. */
export type MayRead = Readonly<Record<(typeof READ_KINDS)[ReadKind], readonly string[]>>;

export const READS_NOTHING: MayRead = { secrets: [], configMaps: [], volumeClaims: [] };

/** One name, the beginning of names, or `*` for all. */
export const READ_PATTERN = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?|([a-z0-9][-a-z0-9.]{0,251})?[*])$/;

/** Fields of a pod that name an object, by where they are. A kind without a field is not read that way. */
export const READ_FIELDS: Readonly<Record<ReadKind, ReadFields>> = {
  Secret: { volume: ["secret", "secretName"], source: "secret", env: "secretKeyRef", envFrom: "secretRef" },
  ConfigMap: { volume: ["configMap", "name"], source: "configMap", env: "configMapKeyRef", envFrom: "configMapRef" },
  PersistentVolumeClaim: { volume: ["persistentVolumeClaim", "claimName"] },
};

interface ReadFields {
  /** Of a volume: its source, and the field in it. */
  readonly volume: readonly [string, string];
  /** Of a projected volume's source. */
  readonly source?: string;
  /** Of a variable's `valueFrom`. */
  readonly env?: string;
  /** Of `envFrom`. */
  readonly envFrom?: string;
}

/**
 * Whether an object of this kind that a release does not bring may be read by this name. Secrets with the values of a
 * configuration are their deployment's alone: others of the namespace may be another vendor's, and no pattern names them.
 */
export function isReadable(mayRead: MayRead, kind: ReadKind, name: string, deploymentId: string): boolean {
  if (kind === "Secret" && name.startsWith(RELEASE_SECRET_PREFIX)) return isSecretOf(deploymentId, name);
  return isNamed(mayRead[READ_KINDS[kind]], name);
}
