import { randomBytes } from "node:crypto";
import type { Logger } from "../../base/log.ts";
import { NAME_SALT_KEY } from "../../crds/group.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { type KubeObject, resources } from "../../kube/objects/resource.ts";

interface SaltSecret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface SaltOptions {
  readonly client: Pick<Client, "get" | "replace">;
  /** Where the agent runs. */
  readonly namespace: string;
  /** Name of the Secret, which the chart makes empty. */
  readonly secret: string;
  readonly log: Logger;
}

const SALT_BYTES = 32;

/** A salt of the installation. The first agent that reads the Secret fills it. @throws Error when it cannot be had. */
export async function readSalt(options: SaltOptions, signal: AbortSignal): Promise<Buffer> {
  const { client, namespace, secret: name, log } = options;
  const secret = await client.get<SaltSecret>(resources.secrets, { namespace, name }, signal);
  if (secret === undefined) throw new Error(`the Secret ${name} is not there`);
  const there = secret.data?.[NAME_SALT_KEY];
  if (there !== undefined && there !== "") {
    const salt = Buffer.from(there, "base64");
    if (salt.length < SALT_BYTES) throw new Error(`the salt has fewer than ${SALT_BYTES} bytes`);
    return salt;
  }
  const salt = randomBytes(SALT_BYTES);
  const data = { ...secret.data, [NAME_SALT_KEY]: salt.toString("base64") };
  try {
    await client.replace<SaltSecret>(resources.secrets, { ...secret, data }, {}, signal);
  } catch (error) {
    // Another agent has filled it: with its resourceVersion this write was refused.
    if (error instanceof ApiError && error.isConflict) return readSalt(options, signal);
    throw error;
  }
  log.info({ secret: name }, "salt made");
  return salt;
}
