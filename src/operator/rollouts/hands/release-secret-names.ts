import type { Client } from "../../../kube/client/client.ts";
import { collectionPath } from "../../../kube/objects/paths.ts";
import { type ObjectMeta, resources } from "../../../kube/objects/resource.ts";

/** Metadata alone: the values do not come into this process. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/** More are looked at once the first are gone. */
const MAX_LISTED = 1_000;

/** The Secrets of configurations that the agent has left, the oldest ones included, without what they hold. */
export async function releaseSecretNames(
  { exchange }: Pick<Client, "exchange">,
  releasesNamespace: string,
  signal: AbortSignal,
): Promise<readonly { readonly metadata: ObjectMeta }[]> {
  const path = collectionPath(resources.secrets, releasesNamespace);
  const query = { limit: MAX_LISTED };
  const list = await exchange.json<{ readonly items: readonly { readonly metadata: ObjectMeta }[] | null }>(
    { method: "GET", path, query, accept: METADATA_ONLY },
    signal,
  );
  return (list.items ?? []).map(({ metadata }) => ({ metadata }));
}
