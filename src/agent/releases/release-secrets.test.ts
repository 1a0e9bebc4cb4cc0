import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import type { Client } from "../../kube/client/client.ts";
import { kubeError } from "../testing/sample.ts";
import { ReleaseSecrets } from "./release-secrets.ts";

const SECRET = { name: "cfg-dep-1-0", data: { A: "Y2FuYXJ5" } };
const signal = new AbortController().signal;

function secrets(answer: () => Promise<unknown>, isLeader = true) {
  const made: object[] = [];
  const stored: { data?: Readonly<Record<string, string>> } = {};
  const client = {
    get: async () => ({ metadata: { name: "salt" }, ...stored }),
    replace: async (_resource: unknown, object: typeof stored) => Object.assign(stored, { data: object.data }),
    create: async (_resource: unknown, object: object) => {
      made.push(object);
      return answer();
    },
  } as unknown as Client;
  const fence = (): void => {
    if (!isLeader) throw new Error("not the leader");
  };
  const of = { client, namespace: "sallyport-system", releasesNamespace: "sallyport-releases", fence };
  const make = () => new ReleaseSecrets({ ...of, log: silentLogger });
  return { make, made };
}

test("one immutable Secret with the deployment's label is made, and nothing is read", async () => {
  const { make, made } = secrets(async () => ({}));
  expect(await make().make(SECRET, "dep_1", signal)).toBeUndefined();
  expect(made).toEqual([
    {
      ...{ apiVersion: "v1", kind: "Secret", type: "Opaque", immutable: true, data: SECRET.data },
      metadata: {
        name: SECRET.name,
        namespace: "sallyport-releases",
        labels: { "sallyport.dev/deployment-id": "dep_1" },
      },
    },
  ]);
});

test("one that is there already will do", async () => {
  const { make } = secrets(() => Promise.reject(kubeError(409, "AlreadyExists", "there")));
  expect(await make().make(SECRET, "dep_1", signal)).toBeUndefined();
});

test.each([[422, "Invalid"] as const, [413, "RequestEntityTooLarge"] as const])(
  "a refusal that stays, %i, is told without the words of the cluster",
  async (status, reason) => {
    const { make } = secrets(() => Promise.reject(kubeError(status, reason, "data A=canary is bad")));
    const told = await make().make(SECRET, "dep_1", signal);
    expect(told).toMatchObject({ code: "PREFLIGHT_CHECKS_FAILED", message: expect.stringContaining(String(status)) });
    expect(JSON.stringify(told)).not.toContain("canary");
  },
);

test("another one is tried again, and its words are not kept for the log", async () => {
  const { make } = secrets(() => Promise.reject(kubeError(403, "Forbidden", "webhook: canary")));
  const error = await make()
    .make(SECRET, "dep_1", signal)
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ status: 403, message: expect.stringContaining("Forbidden") });
  expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toContain("canary");
});

test("an agent that does not lead makes none", async () => {
  const { make, made } = secrets(async () => ({}), false);
  await expect(make().make(SECRET, "dep_1", signal)).rejects.toThrow("not the leader");
  expect(made).toEqual([]);
});

test("the salt is made once for all processes", async () => {
  const { make } = secrets(async () => ({}));
  const first = await make().salt(signal);
  expect(first).toHaveLength(32);
  expect(await make().salt(signal)).toEqual(first);
});
