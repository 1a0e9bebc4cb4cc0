import { Agent } from "node:https";
import { type ApiCredentials, apiRequest } from "./api-request.ts";

/** An object as the API server stores it, and where. */
export interface Stored {
  /** `/registry/pods/shop/web-1` */
  readonly key: string;
  readonly value: object;
}

/** Most operations that etcd takes in one transaction are 128; pods are 3 kB each. */
const A_TRANSACTION = 100;

/**
 * Writes objects into etcd: the API server reads JSON as well as protobuf. Over its API tens of thousands of them would be
 * minutes. Nothing is defaulted or checked.
 *
 * @param etcd {@link Cluster.etcd}
 */
export async function storeObjects(
  etcd: ApiCredentials,
  objects: readonly Stored[],
  signal: AbortSignal,
): Promise<void> {
  const puts = objects.map(({ key, value }) => putOf(key, encoded(JSON.stringify(value))));
  await transact(etcd, puts, signal);
}

/** One write of a transaction; made by {@link putOf} and {@link deletionOf}. */
export type EtcdWrite = object;

/** @param value in base64, as {@link readValues} has it */
export function putOf(key: string, value: string): EtcdWrite {
  return { requestPut: { key: encoded(key), value } };
}

export function deletionOf(key: string): EtcdWrite {
  return { requestDeleteRange: { key: encoded(key) } };
}

/** Writes in order, a hundred at a time: each hundred as a whole, all of them not. */
export async function transact(etcd: ApiCredentials, writes: readonly EtcdWrite[], signal: AbortSignal): Promise<void> {
  for (let at = 0; at < writes.length; at += A_TRANSACTION) {
    const success = writes.slice(at, at + A_TRANSACTION);
    const answer = await ask(etcd, "txn", { success }, signal);
    if (answer.succeeded !== true) throw new Error(`etcd did not store them: ${JSON.stringify(answer)}`);
  }
}

/** @returns the revision of the last write of each key that the API server has */
export async function readRevisions(etcd: ApiCredentials, signal: AbortSignal): Promise<Map<string, string>> {
  const all = { key: encoded("/registry/"), range_end: encoded("/registry0"), keys_only: true };
  const { kvs = [] } = await ask(etcd, "range", all, signal);
  return new Map(kvs.map(({ key, mod_revision }) => [decoded(key), mod_revision]));
}

/** @returns the values of those of the keys that exist, in base64, and the revisions of their last writes */
export async function readValues(
  etcd: ApiCredentials,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, { readonly value: string; readonly revision: string }>> {
  const found = new Map<string, { readonly value: string; readonly revision: string }>();
  for (let at = 0; at < keys.length; at += A_TRANSACTION) {
    const success = keys.slice(at, at + A_TRANSACTION).map((key) => ({ requestRange: { key: encoded(key) } }));
    const { responses = [] } = await ask(etcd, "txn", { success }, signal);
    for (const { key, value, mod_revision } of responses.flatMap(({ response_range }) => response_range?.kvs ?? []))
      found.set(decoded(key), { value: value ?? "", revision: mod_revision });
  }
  return found;
}

interface KeyValue {
  readonly key: string;
  readonly value?: string;
  readonly mod_revision: string;
}

interface Answer {
  readonly succeeded?: boolean;
  readonly kvs?: readonly KeyValue[];
  readonly responses?: readonly { readonly response_range?: { readonly kvs?: readonly KeyValue[] } }[];
}

/** A handshake costs more than what is asked: a kept cluster asks ten times between two files. */
const agent = new Agent({ keepAlive: true });

async function ask(etcd: ApiCredentials, path: "txn" | "range", body: object, signal: AbortSignal): Promise<Answer> {
  const answer = await apiRequest(etcd, { method: "POST", path: `/v3/kv/${path}`, body }, signal, agent);
  // Without this a failed read looks like an empty store, and the next file runs on what the last one has left.
  if (answer.status !== 200)
    throw new Error(`etcd answers ${answer.status} to ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body as Answer;
}

const encoded = (text: string): string => Buffer.from(text).toString("base64");
const decoded = (text: string): string => Buffer.from(text, "base64").toString();
