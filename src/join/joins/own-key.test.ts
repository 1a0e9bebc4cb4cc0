import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { newSessionKey } from "../../debug-link/session-key.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import type { DynamicObject } from "../../kube/objects/resource.ts";
import { checkPair, curlPin, ownKey } from "./own-key.ts";

const signal = new AbortController().signal;
const now = new Date();

/** One Secret, whose writes lose when another was faster. */
class Secrets {
  #version = 1;
  writes = 0;
  stored: DynamicObject | undefined = this.#made({});

  #made(fields: object): DynamicObject {
    const metadata = {
      name: "sallyport-join-tls",
      uid: "u",
      resourceVersion: String(this.#version),
      creationTimestamp: "",
    };
    return { apiVersion: "v1", kind: "Secret", type: "Opaque", ...fields, metadata };
  }

  set(data: object): void {
    this.#version += 1;
    this.stored = this.#made({ data });
  }

  get client(): Pick<Client, "get" | "replace"> {
    const replace = async (_: unknown, object: DynamicObject): Promise<DynamicObject> => {
      await Promise.resolve();
      if (object.metadata.resourceVersion !== String(this.#version)) {
        throw new ApiError("it has moved on", { status: 409, reason: "Conflict" });
      }
      this.writes += 1;
      this.set(object.data as object);
      return object;
    };
    return { get: async () => this.stored, replace } as unknown as Pick<Client, "get" | "replace">;
  }
}

const take = (secrets: Secrets) => ownKey(secrets.client, "sallyport-system", { now, log: silentLogger }, signal);

test("replicas that start together have one key, and one that starts later has it too", async () => {
  const secrets = new Secrets();
  const pairs = await Promise.all([take(secrets), take(secrets), take(secrets)]);
  const pins = new Set([...pairs, await take(secrets)].map(curlPin));
  expect([pins.size, secrets.writes]).toEqual([1, 1]);
  expect([...pins][0]).toMatch(/^sha256\/\/[A-Za-z0-9+/]{43}=$/);
});

test("a Secret that holds another's key is not served, and is not written over", async () => {
  const secrets = new Secrets();
  const [one, other] = [newSessionKey("a", now), newSessionKey("b", now)];
  const data = {
    "tls.crt": Buffer.from(one.certificate).toString("base64"),
    "tls.key": Buffer.from(other.key).toString("base64"),
  };
  secrets.set(data);
  await expect(take(secrets)).rejects.toThrow("tls.key is not the key of tls.crt");
  expect(secrets.writes).toBe(0);
  expect(() => checkPair({ cert: one.certificate, key: one.key })).not.toThrow();
});

test("without the Secret there is no server, and the words name it", async () => {
  const secrets = new Secrets();
  secrets.stored = undefined;
  await expect(take(secrets)).rejects.toThrow("there is no Secret sallyport-join-tls in sallyport-system");
});
