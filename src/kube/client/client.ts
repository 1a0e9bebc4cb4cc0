import { systemClock } from "../../base/clock.ts";
import { PageTurns } from "../../base/peer-numbers.ts";
import { collectionPath, objectPath } from "../objects/paths.ts";
import {
  type AppliedObject,
  apiVersionOf,
  type DynamicObject,
  type KubeObject,
  type NewObject,
  type ObjectKey,
  type Resource,
  resources,
} from "../objects/resource.ts";
import * as reviews from "./access-reviews.ts";
import { ApiError } from "./api-error.ts";
import type { ApplyOptions, ClientOptions, DeleteOptions, ListOptions, Patch, PatchOptions } from "./client-options.ts";
import type { Connection } from "./connection.ts";
import { Exchange } from "./exchange.ts";
import * as subresources from "./subresources.ts";

const PATCH_CONTENT: Readonly<Record<Patch["type"], string>> = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
};

/** Objects a page. Source: client-go tools/pager, 500. */
const PAGE_SIZE = 500;

/**
 * The API server's verbs, one user's. All calls share the connection's sockets; each takes a signal, last.
 *
 * Reads return what the server sent, as plain objects. Type parameters are promises of the caller, not checked here.
 * @throws ApiError, see its predicates; `signal.reason` on abort.
 */
export class Client {
  readonly exchange: Exchange;
  readonly fieldManager: string;
  readonly #connection: Connection;
  readonly #options: ClientOptions;

  constructor(connection: Connection, options: ClientOptions = {}) {
    this.#connection = connection;
    this.#options = options;
    this.fieldManager = options.fieldManager ?? connection.userAgent;
    this.exchange = new Exchange({
      connection,
      clock: options.clock ?? systemClock,
      timeoutMs: options.timeoutMs ?? 60_000,
      metrics: options.metrics,
      serverClock: options.serverClock,
    });
  }

  /** The same server as another user. */
  withToken(token: string): Client {
    return new Client(this.#connection.withToken(token), this.#options);
  }

  /** The stored object; undefined when there is none, by the API server's own word. */
  async get<T extends KubeObject = DynamicObject>(
    resource: Resource,
    key: ObjectKey,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const answer = this.exchange.json<T>({ method: "GET", path: objectPath(resource, key) }, signal);
    return absentAsUndefined(resource, answer);
  }

  /**
   * All objects, page by page; memory holds one page.
   *
   * @throws ApiError 410 when the list changed so much between two pages that the server cannot go on: objects already
   * yielded may be stale, so the caller starts again. Between two pages there is a request: a slow consumer gets a 410
   * after about five minutes.
   */
  async *list<T extends KubeObject = DynamicObject>(
    resource: Resource,
    options: ListOptions,
    signal: AbortSignal,
  ): AsyncGenerator<T, void, undefined> {
    let remaining = options.limit ?? Number.POSITIVE_INFINITY;
    let next: string | undefined;
    const turns = new PageTurns();
    while (remaining > 0) {
      const page: ObjectList = await this.exchange.json(
        {
          method: "GET",
          path: collectionPath(resource, options.namespace),
          query: {
            labelSelector: options.labelSelector,
            fieldSelector: options.fieldSelector,
            limit: Math.min(PAGE_SIZE, remaining),
            continue: next,
          },
          ...(options.pageBytes !== undefined && { maxBytes: options.pageBytes }),
        },
        signal,
      );
      for (const item of page.items ?? []) {
        if (remaining <= 0) return;
        remaining -= 1;
        // Items of a list carry no kind of their own; their readers expect one.
        yield { apiVersion: apiVersionOf(resource), kind: resource.kind, ...item } as unknown as T;
      }
      next = page.metadata.continue;
      if (!next) return;
      const wrong = turns.turn(page.items?.length ?? 0, next);
      if (wrong !== undefined) throw endless(collectionPath(resource, options.namespace), wrong);
    }
  }

  create<T extends KubeObject = DynamicObject>(
    resource: Resource,
    object: NewObject<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const path = collectionPath(resource, object.metadata.namespace);
    const query = { fieldManager: this.fieldManager };
    return this.exchange.json<T>({ method: "POST", path, query, body: object }, signal);
  }

  /** Server-side apply: `object` is everything this field manager wants to own, and nothing else. */
  apply<T extends KubeObject = DynamicObject>(
    resource: Resource,
    object: AppliedObject<T>,
    options: ApplyOptions,
    signal: AbortSignal,
  ): Promise<T> {
    return this.exchange.json<T>(
      {
        method: "PATCH",
        path: objectPath(resource, object.metadata, options.subresource),
        query: { fieldManager: options.fieldManager ?? this.fieldManager, force: options.force ?? true },
        body: object,
        // JSON is YAML; application/apply-patch+json is newer than the oldest server we meet.
        contentType: "application/apply-patch+yaml",
      },
      signal,
    );
  }

  patch<T extends KubeObject = DynamicObject>(
    resource: Resource,
    key: ObjectKey,
    patch: Patch,
    options: PatchOptions,
    signal: AbortSignal,
  ): Promise<T> {
    return this.exchange.json<T>(
      {
        method: "PATCH",
        path: objectPath(resource, key, options.subresource),
        query: { fieldManager: options.fieldManager ?? this.fieldManager },
        body: patch.body,
        contentType: PATCH_CONTENT[patch.type],
      },
      signal,
    );
  }

  /** Writes the whole object. With its `resourceVersion` a lost race is a 409; fields unknown to `T` must be in it. */
  replace<T extends KubeObject = DynamicObject>(
    resource: Resource,
    object: T,
    options: { readonly subresource?: string },
    signal: AbortSignal,
  ): Promise<T> {
    const path = objectPath(resource, object.metadata, options.subresource);
    const query = { fieldManager: this.fieldManager };
    return this.exchange.json<T>({ method: "PUT", path, query, body: object }, signal);
  }

  /**
   * True when the server accepted the deletion (finalizers may still hold the object), false when it was gone already.
   * @throws ApiError 409 when a precondition does not hold.
   */
  async delete(resource: Resource, key: ObjectKey, options: DeleteOptions, signal: AbortSignal): Promise<boolean> {
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...options };
    const request = this.exchange.bytes({ method: "DELETE", path: objectPath(resource, key), body }, signal);
    return (await absentAsUndefined(resource, request)) !== undefined;
  }

  /** Undefined when the object is absent. */
  getScale(resource: Resource, key: ObjectKey, signal: AbortSignal): Promise<subresources.Scale | undefined> {
    return absentAsUndefined(resource, subresources.getScale(this.exchange, resource, key, signal));
  }

  /** Sets the replica count, whatever it is now. */
  patchScale(resource: Resource, key: ObjectKey, replicas: number, signal: AbortSignal): Promise<subresources.Scale> {
    return subresources.patchScale(this.exchange, resource, key, replicas, this.fieldManager, signal);
  }

  /**
   * Asks to evict a pod. False when it is gone already.
   * @throws ApiError 429 at once when a disruption budget forbids it now (no retry here: the caller reports and waits).
   */
  async evict(key: ObjectKey, options: DeleteOptions, signal: AbortSignal): Promise<boolean> {
    const answer = subresources.evict(this.exchange, key, options, signal);
    return (await absentAsUndefined(resources.pods, answer)) !== undefined;
  }

  /** A bound token of a ServiceAccount. The server may shorten the lifetime; at least 600 s. */
  createToken(
    serviceAccount: ObjectKey,
    options: subresources.TokenOptions,
    signal: AbortSignal,
  ): Promise<subresources.IssuedToken> {
    return subresources.createToken(this.exchange, serviceAccount, options, signal);
  }

  podLogs(key: ObjectKey, options: subresources.PodLogOptions, signal: AbortSignal): Promise<string> {
    return subresources.podLogs(this.exchange, key, options, signal);
  }

  /** May we do this? */
  selfSubjectAccessReview(attributes: reviews.AccessAttributes, signal: AbortSignal): Promise<boolean> {
    return reviews.selfSubjectAccessReview(this.exchange, attributes, signal);
  }

  /** May they do this? */
  subjectAccessReview(
    subject: reviews.Subject,
    attributes: reviews.AccessAttributes,
    signal: AbortSignal,
  ): Promise<boolean> {
    return reviews.subjectAccessReview(this.exchange, subject, attributes, signal);
  }

  /** Whose token is it? Undefined: the server does not take it. */
  tokenReview(token: string, signal: AbortSignal): Promise<reviews.UserInfo | undefined> {
    return reviews.tokenReview(this.exchange, token, signal);
  }

  /** What may we do in `namespace`? The authorizers' own summary, which may be incomplete. */
  selfSubjectRulesReview(namespace: string, signal: AbortSignal): Promise<reviews.SubjectRules> {
    return reviews.selfSubjectRulesReview(this.exchange, namespace, signal);
  }

  /** As whom does the server see us? */
  whoAmI(signal: AbortSignal): Promise<reviews.UserInfo> {
    return reviews.whoAmI(this.exchange, signal);
  }

  /** The text at `path`, e.g. `/readyz?verbose` or `/version`. */
  async rawGet(path: string, signal: AbortSignal): Promise<string> {
    const { body } = await this.exchange.bytes({ method: "GET", path, accept: "application/json, */*" }, signal);
    return body.toString("utf8");
  }
}

interface ObjectList {
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string };
  /** `null` from Go when empty, on some aggregated servers. */
  readonly items: readonly object[] | null;
}

/** A mistake of the server, and no failure that another try would mend at once: the caller's back-off counts. */
function endless(path: string, wrong: string): ApiError {
  return new ApiError(`GET ${path}: the list has no end: ${wrong}`, { status: 500, reason: "" });
}

/**
 * Kinds of Kubernetes itself are always served, so that a 404 without a Status is no answer of the API server: a load
 * balancer or a proxy before it has lost its way, and the object may well be there.
 */
async function absentAsUndefined<T>({ group }: Resource, answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const isAnswer = error instanceof ApiError && (error.body !== undefined || group.includes("."));
    if (isAnswer && error.isNotFound) return undefined;
    throw error;
  }
}
