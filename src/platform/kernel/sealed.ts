import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { join } from "node:path";

/**
 * Encrypts values that the platform must read again, with AES-256-GCM: secret environment variables, secret inputs
 * (§0.1). The text form is base64url of 12 bytes nonce, 16 bytes tag, ciphertext.
 */
export function seal(key: Uint8Array, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
}

/** @throws Error when the key is a different one or the text was changed. */
export function open(key: Uint8Array, sealed: string): string {
  const bytes = Buffer.from(sealed, "base64url");
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString("utf8");
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The file with the sealing key of a platform with an embedded database. */
export function sealingKeyFile(folder: string): string {
  return join(folder, "sealing-key");
}
