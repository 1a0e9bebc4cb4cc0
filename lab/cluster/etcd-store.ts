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
export async function storeObjects(etcd: string, objects: readonly Stored[], signal: AbortSignal): Promise<void> {
  for (let at = 0; at < objects.length; at += A_TRANSACTION) {
    const success = objects.slice(at, at + A_TRANSACTION).map(({ key, value }) => ({
      requestPut: { key: base64(key), value: base64(JSON.stringify(value)) },
    }));
    const response = await fetch(`${etcd}/v3/kv/txn`, { method: "POST", body: JSON.stringify({ success }), signal });
    const answer = (await response.json()) as { readonly succeeded?: boolean };
    if (answer.succeeded !== true) throw new Error(`etcd did not store them: ${JSON.stringify(answer)}`);
  }
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
