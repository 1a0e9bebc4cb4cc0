import { createHash } from "node:crypto";
import Type, { type Static } from "typebox";
import { canonicalJson } from "../operations/plan-hash.ts";
import { Strict, Timestamp } from "../wire/schema.ts";
import type { ObservedInventoryBatch, ObservedResource, ResourceHeartbeat } from "./resource-heartbeat.ts";

const count = Type.Integer({ minimum: 0, maximum: 1_000_000 });

/**
 * What a reporter says of everything that it has told of a deployment: its heartbeats, and its rows in the lists that
 * are complete. A platform that holds the same knows all of it as of `observedAt`, without a row being sent (§15.3).
 */
export const ResourceLevel = Strict({
  observedAt: Timestamp,
  digest: Type.String({ pattern: "^[0-9a-f]{16}$", description: "See `digestOf`." }),
  heartbeats: count,
  rows: Type.Integer({ minimum: 0, maximum: 1_000_000, description: "In lists that are complete." }),
  complete: Type.Boolean({
    description: "False when a list was refused or has not been read yet, or rows were left out for want of room.",
  }),
  full: Type.Optional(
    Type.Boolean({
      description:
        "Ends a report of everything: a heartbeat with another `observedAt` than this one was not in it, and goes.",
    }),
  ),
});
export type ResourceLevel = Static<typeof ResourceLevel>;

/**
 * The hash of one heartbeat or row: the first 64 bits of SHA-256 over its key, a NUL and its RFC 8785 text without
 * `observedAt` and `deploymentId`. Signed, as PostgreSQL has its `bigint`.
 */
function hashOf(key: string, item: object): bigint {
  const digest = createHash("sha256")
    .update(`${key}\0${canonicalJson(item)}`)
    .digest();
  return digest.readBigInt64BE(0);
}

export function heartbeatHash({ observedAt: _, deploymentId: __, ...item }: ResourceHeartbeat): bigint {
  return hashOf(`heartbeat\0${item.resourceType}\0${item.resourceId}`, item);
}

export function rowHash(
  { sourceKind, inventoryScope }: Pick<ObservedInventoryBatch, "sourceKind" | "inventoryScope">,
  resource: ObservedResource,
): bigint {
  return hashOf(`row\0${sourceKind}\0${inventoryScope}\0${resource.rawIdentity}`, resource);
}

/**
 * 16 hex digits of the hashes of a set, joined by XOR: the order does not count, and a change costs one step, here and in
 * an SQL aggregate. It finds what was lost, not what was forged: the reporter could send any rows anyway.
 */
export function digestOf(joined: bigint): string {
  return BigInt.asUintN(64, joined).toString(16).padStart(16, "0");
}
