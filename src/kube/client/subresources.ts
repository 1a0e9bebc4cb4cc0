import { objectPath } from "../objects/paths.ts";
import { type KubeObject, type ObjectKey, type Resource, resources } from "../objects/resource.ts";
import type { DeleteOptions } from "./client-options.ts";
import type { Answer, Exchange } from "./exchange.ts";

export interface Scale extends KubeObject {
  readonly spec: { readonly replicas?: number };
  readonly status: { readonly replicas: number; readonly selector?: string };
}

export interface TokenOptions {
  readonly expirationSeconds: number;
  /** Default: the API server itself. */
  readonly audiences?: readonly string[];
  /** The token dies with this object. Only pods, nodes and secrets can be bound to. */
  readonly boundObject?: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid?: string;
  };
}

export interface IssuedToken {
  readonly token: string;
  /** RFC 3339. */
  readonly expirationTimestamp: string;
}

export interface PodLogOptions {
  /** Required by the server when the pod has several. */
  readonly container?: string;
  readonly tailLines?: number;
  readonly sinceSeconds?: number;
  /** Always set it: a log has no end of its own. */
  readonly limitBytes?: number;
  /** Of the container's run before the last restart. */
  readonly previous?: boolean;
  readonly timestamps?: boolean;
}

export function getScale(exchange: Exchange, resource: Resource, key: ObjectKey, signal: AbortSignal): Promise<Scale> {
  return exchange.json({ method: "GET", path: objectPath(resource, key, "scale") }, signal);
}

export function patchScale(
  exchange: Exchange,
  resource: Resource,
  key: ObjectKey,
  replicas: number,
  fieldManager: string,
  signal: AbortSignal,
): Promise<Scale> {
  return exchange.json(
    {
      method: "PATCH",
      path: objectPath(resource, key, "scale"),
      query: { fieldManager },
      body: { spec: { replicas } },
      contentType: "application/merge-patch+json",
    },
    signal,
  );
}

export function evict(
  exchange: Exchange,
  key: ObjectKey,
  options: DeleteOptions,
  signal: AbortSignal,
): Promise<Answer> {
  return exchange.bytes(
    {
      method: "POST",
      path: objectPath(resources.pods, key, "eviction"),
      body: {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: key.name, namespace: key.namespace },
        deleteOptions: options,
      },
      // A budget's 429 comes with Retry-After: 10; waiting ten times would hide for two minutes who blocks.
      retry: false,
    },
    signal,
  );
}

export async function createToken(
  exchange: Exchange,
  serviceAccount: ObjectKey,
  options: TokenOptions,
  signal: AbortSignal,
): Promise<IssuedToken> {
  const { expirationSeconds, audiences, boundObject } = options;
  const review = await exchange.json<{ readonly status: IssuedToken }>(
    {
      method: "POST",
      path: objectPath(resources.serviceAccounts, serviceAccount, "token"),
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        // Left out, not empty: an admission policy sees who wrote which field.
        spec: { expirationSeconds, ...(audiences && { audiences }), boundObjectRef: boundObject },
      },
    },
    signal,
  );
  return { token: review.status.token, expirationTimestamp: review.status.expirationTimestamp };
}

export async function podLogs(
  exchange: Exchange,
  key: ObjectKey,
  options: PodLogOptions,
  signal: AbortSignal,
): Promise<string> {
  const { container, tailLines, sinceSeconds, limitBytes, previous, timestamps } = options;
  const { body } = await exchange.bytes(
    {
      method: "GET",
      path: objectPath(resources.pods, key, "log"),
      query: { container, tailLines, sinceSeconds, limitBytes, previous, timestamps },
      accept: "text/plain, */*",
    },
    signal,
  );
  return body.toString("utf8");
}
