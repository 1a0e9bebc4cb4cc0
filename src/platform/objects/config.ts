import { join } from "node:path";
import type { SettingRow, SettingTable } from "../../base/settings.ts";
import type { DatabaseLocation } from "../database/open.ts";
import { parseCredentials, type S3Location } from "./s3-store.ts";

/** Where objects are stored: in a folder of this host, or in a bucket that all replicas share. */
export type ObjectLocation = { readonly folder: string } | { readonly s3: S3Location };

/** Included in `PLATFORM_SETTINGS`, the only table of the platform's settings. */
export const OBJECT_SETTINGS = {
  objects: {
    env: "SALLYPORT_PLATFORM_OBJECTS",
    default: "",
    doc: "Where uploaded and built files lie: a folder of this host, or `s3://bucket/prefix`, of this platform alone. Empty: the folder `objects` beside the embedded database; with PostgreSQL or `memory` nowhere, and nothing can be uploaded.",
  },
  objectsEndpoint: {
    env: "SALLYPORT_PLATFORM_OBJECTS_ENDPOINT",
    default: "",
    doc: "http(s) URL of an S3-compatible store, also as callers reach it; buckets are named in its paths. Empty: AWS.",
  },
  objectsRegion: {
    env: "SALLYPORT_PLATFORM_OBJECTS_REGION",
    default: "us-east-1",
    doc: "Region of the bucket.",
  },
  objectsCredentials: {
    env: "SALLYPORT_PLATFORM_OBJECTS_CREDENTIALS",
    default: "",
    doc: "`<access key id>:<secret access key>` for the bucket.",
  },
  objectsCredentialsFile: {
    env: "SALLYPORT_PLATFORM_OBJECTS_CREDENTIALS_FILE",
    default: "",
    doc: "File with the same, in place of it; read again for each signature, so that keys can be rotated without a restart.",
  },
} as const satisfies SettingTable;

/**
 * @param text the setting's value, or its default.
 * @param fail records what a setting must be.
 */
export function readObjectLocation(
  text: (setting: SettingRow) => string,
  fail: (setting: SettingRow, expected: string) => void,
): ObjectLocation | undefined {
  const { objects, objectsEndpoint, objectsRegion, objectsCredentials, objectsCredentialsFile } = OBJECT_SETTINGS;
  const where = text(objects);
  if (where === "") return undefined;
  if (!where.startsWith("s3:")) return { folder: where };
  const [, bucket = "", path = ""] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]*))?$/.exec(where) ?? [];
  if (bucket === "" || path.split("/").includes("..")) fail(objects, "a folder or s3://bucket/prefix");
  const endpoint = text(objectsEndpoint).replace(/\/+$/, "");
  if (endpoint !== "" && !(URL.canParse(endpoint) && /^https?:/.test(endpoint)))
    fail(objectsEndpoint, "an http(s) URL");
  const region = text(objectsRegion);
  if (!/^[a-z0-9-]+$/.test(region)) fail(objectsRegion, "the name of a region");
  const file = text(objectsCredentialsFile);
  const inline = parseCredentials(text(objectsCredentials));
  if (file === "" && inline === undefined)
    fail(objectsCredentials, "<access key id>:<secret access key>, or name a file");
  const prefix = path.replace(/^\/+|\/+$/g, "");
  const credentials = file === "" ? (inline ?? { file }) : { file };
  return {
    s3: {
      bucket,
      prefix: prefix === "" ? "" : `${prefix}/`,
      region,
      endpoint: endpoint === "" ? undefined : endpoint,
      credentials,
    },
  };
}

/** The object folder beside the embedded database; none for a database in memory or on a server. */
export function ownFolder(database: DatabaseLocation): string | undefined {
  return "pglite" in database && database.pglite !== "memory" ? join(database.pglite, "objects") : undefined;
}
