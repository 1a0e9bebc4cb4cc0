import type { FastifyInstance } from "fastify";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { DatabaseLocation } from "../database/open.ts";
import type { OpenDeps } from "../kernel/call/open-route.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { type ObjectLocation, ownFolder } from "./config.ts";
import { ObjectFolder } from "./object-folder.ts";
import { type ObjectDeps, registerObjects } from "./object-routes.ts";
import { S3Store } from "./s3-store.ts";
import { urlKey } from "./signed-path.ts";

export interface ObjectServing {
  readonly store: ObjectStore | undefined;
  /** Key made by `urlKey`. */
  readonly secret: Uint8Array;
  /** Registers routes for the store's addresses, when the platform itself serves them. */
  register(app: FastifyInstance, deps: OpenDeps & Pick<ObjectDeps, "uploads">): void;
}

export interface ObjectSite {
  /** Undefined: beside the embedded database. */
  readonly objects?: ObjectLocation | undefined;
  readonly database: DatabaseLocation;
  readonly sealingKey: Uint8Array;
  readonly clock: Clock;
  readonly log: Logger;
  baseUrl(): string;
}

/** Opens the configured store. Without a store nothing can be uploaded or built. */
export async function openObjects(site: ObjectSite): Promise<ObjectServing> {
  const { clock } = site;
  const own = ownFolder(site.database);
  const location = site.objects ?? (own === undefined ? undefined : { folder: own });
  const secret = urlKey(site.sealingKey);
  if (location === undefined) return { store: undefined, secret, register: () => undefined };
  if ("s3" in location) {
    const store = new S3Store(location.s3, () => clock.wallNow());
    return { store, secret, register: () => undefined };
  }
  if ("postgres" in site.database) {
    site.log.warn({ folder: location.folder }, "objects lie in a folder of this host: replicas on others miss them");
  }
  const objects = new ObjectFolder(location.folder, secret, () => site.baseUrl());
  await objects.open();
  return { store: objects, secret, register: (app, deps) => registerObjects(app, { ...deps, objects, secret }) };
}
