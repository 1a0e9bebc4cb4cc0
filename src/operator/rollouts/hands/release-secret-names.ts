import type { Client } from "../../../kube/client/client.ts";
import { METADATA_OF_LIST } from "../../../kube/client/exchange.ts";
import { collectionPath } from "../../../kube/objects/paths.ts";
import { type ObjectMeta, resources } from "../../../kube/objects/resource.ts";

const PAGE = 500;

interface SecretList {
  readonly metadata?: { readonly continue?: string };
  readonly items: readonly { readonly metadata: ObjectMeta }[] | null;
}

/** The Secrets of configurations that the agent has left, page by page, without what they hold. */
export async function* releaseSecretNames(
  { exchange }: Pick<Client, "exchange">,
  releasesNamespace: string,
  signal: AbortSignal,
): AsyncGenerator<readonly { readonly metadata: ObjectMeta }[]> {
  const path = collectionPath(resources.secrets, releasesNamespace);
  let next: string | undefined;
  do {
    const query = { limit: PAGE, continue: next };
    const request = { method: "GET", path, query, accept: METADATA_OF_LIST } as const;
    const { items, metadata } = await exchange.json<SecretList>(request, signal);
    yield (items ?? []).map((each) => ({ metadata: each.metadata }));
    next = metadata?.continue;
  } while (next !== undefined && next !== "");
}
