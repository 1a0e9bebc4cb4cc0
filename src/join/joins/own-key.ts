import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import type { Logger } from "../../base/log.ts";
import { JOIN_TLS_SECRET } from "../../crds/manifests/roles/machine-roles.ts";
import { newSessionKey, pinOf } from "../../debug-link/session-key.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { type DynamicObject, resources } from "../../kube/objects/resource.ts";
import type { KeyPair } from "../../kube/serving/served-certificate.ts";

/** Replicas that race: the loser reads what the winner wrote. */
const TRIES = 5;

/**
 * The join server's key, which outlives its processes: machines know the server by it. The first replica makes it and
 * stores it with the resourceVersion of the empty Secret, so that of several only one can; the others take that one.
 *
 * @throws ApiError; Error when the Secret is missing or holds something else
 */
export async function ownKey(
  client: Pick<Client, "get" | "replace">,
  namespace: string,
  { now, log }: { readonly now: Date; readonly log: Logger },
  signal: AbortSignal,
): Promise<KeyPair> {
  for (let left = TRIES; left > 0; left -= 1) {
    const secret = await client.get(resources.secrets, { name: JOIN_TLS_SECRET, namespace }, signal);
    if (secret === undefined) throw new Error(`there is no Secret ${JOIN_TLS_SECRET} in ${namespace}`);
    const stored = storedPair(secret);
    if (stored !== undefined) return stored;
    const { key, certificate } = newSessionKey("sallyport-join", now);
    const data = { "tls.crt": base64(certificate), "tls.key": base64(key) };
    try {
      await client.replace<DynamicObject>(resources.secrets, { ...secret, data }, {}, signal);
      log.info({ secret: JOIN_TLS_SECRET }, "the join server's key was made");
      return { cert: certificate, key };
    } catch (error) {
      if (!(error instanceof ApiError && error.isConflict)) throw error;
    }
  }
  throw new Error(`the Secret ${JOIN_TLS_SECRET} changes again and again`);
}

function storedPair({ data }: DynamicObject): KeyPair | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const { "tls.crt": cert, "tls.key": key }: { readonly "tls.crt"?: unknown; readonly "tls.key"?: unknown } = data;
  if (typeof cert !== "string" || typeof key !== "string") return undefined;
  const pair = { cert: Buffer.from(cert, "base64").toString("utf8"), key: Buffer.from(key, "base64").toString("utf8") };
  checkPair(pair);
  return pair;
}

/** @throws Error when the key is not the certificate's, or one of the two is no PEM. */
export function checkPair({ cert, key }: KeyPair): void {
  const certificate = new X509Certificate(cert);
  const fits = certificate.publicKey.equals(createPublicKey(createPrivateKey(key)));
  if (!fits) throw new Error("tls.key is not the key of tls.crt");
}

/** As curl's `--pinnedpubkey` takes it. */
export function curlPin({ cert }: KeyPair): string {
  return `sha256//${Buffer.from(pinOf(new X509Certificate(cert).raw), "base64url").toString("base64")}`;
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
