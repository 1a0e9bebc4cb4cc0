import Type, { type Static } from "typebox";
import { routes } from "../wire/route.ts";
import {
  Bounded,
  FreeMap,
  Maybe,
  PackageId,
  Platform,
  STATE_BYTES,
  Strict,
  Timestamp,
  WordList,
  Words,
} from "../wire/schema.ts";
import { StoredError } from "../wire/stored-error.ts";
import { PACKAGE_TYPES } from "./package-types.ts";
import { BUILD_PHASES, Package } from "./packages.ts";

/** How long a builder may be silent before its package is given to another (§7). */
export const BUILD_LEASE_MS = 10 * 60_000;
/** How often the platform gives a package out again after a lapsed lease; then the package has failed. */
export const MAX_BUILD_RETRIES = 3;

const text = Type.String({ maxLength: 2048 });
const count = Type.Integer({ minimum: 0 });

const ImageProgress = Strict({
  operation: text,
  bytesUploaded: count,
  totalBytes: count,
  layersUploaded: count,
  totalLayers: count,
});

/** What the builder is doing, as one of the events of §13.2. */
export const BuildEvent = Type.Union([
  Strict({ type: Words(["LoadingConfiguration", "GeneratingCloudFormationTemplate", "Finished"]) }),
  Strict({ type: Type.Literal("BuildingStack"), stack: text }),
  Strict({
    type: Type.Literal("BuildingResource"),
    resourceName: text,
    resourceType: text,
    relatedResources: Type.Array(text, { maxItems: 1000 }),
  }),
  Strict({ type: Type.Literal("CompilingCode"), language: text, progress: Maybe(text) }),
  Strict({ type: Type.Literal("BuildingImage"), image: text }),
  Strict({ type: Type.Literal("PushingImage"), image: text, progress: Maybe(ImageProgress) }),
  Strict({ type: Type.Literal("PushingStack"), platform: Platform, stack: text, destination: Maybe(text) }),
  Strict({ type: Type.Literal("PushingResource"), resourceName: text, resourceType: text }),
  Strict({ type: Type.Literal("DownloadingRuntime"), targetTriple: text, url: text }),
  Strict({ type: Type.Literal("GeneratingTemplate"), platform: Platform }),
  Strict({ type: Type.Literal("EnsuringDockerRepository"), repositoryName: text }),
]);
export type BuildEvent = Static<typeof BuildEvent>;

const BUILDERS = ["workspace.admin", "manager.runtime"] as const;
const Ref = Strict({ id: PackageId });
const builderId = Type.String({ minLength: 1, maxLength: 128 });

/** How builders get work: workspace admins' keys for their workspace, a system manager for all. */
export const packageBuilderRoutes = routes({
  lease: {
    method: "POST",
    path: "/v1/packages/lease",
    summary: "Takes waiting packages to build them, the oldest first, then those whose builder fell silent.",
    roles: BUILDERS,
    body: Strict({
      builderId,
      types: Type.Optional(WordList(PACKAGE_TYPES, { uniqueItems: true })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 1 })),
    }),
    success: 200,
    response: Strict({ packages: Type.Array(Package) }),
    errors: [],
    repeat: "none",
  },
  progress: {
    method: "POST",
    path: "/v1/packages/{id}/progress",
    summary: "Renews the lease and tells what the builder is at.",
    roles: BUILDERS,
    params: Ref,
    body: Strict({ builderId, buildPhase: Words(BUILD_PHASES), event: Type.Optional(BuildEvent) }),
    success: 200,
    response: Strict({ leaseExpiresAt: Timestamp }),
    errors: ["NOT_FOUND", "LEASE_LOST"],
    repeat: "natural",
  },
  complete: {
    method: "POST",
    path: "/v1/packages/{id}/complete",
    summary: "Ends a build: ready with its outputs, or failed with its error.",
    roles: BUILDERS,
    params: Ref,
    body: Strict({
      builderId,
      status: Words(["ready", "failed"]),
      outputs: Type.Optional(Bounded(STATE_BYTES, FreeMap)),
      error: Type.Optional(StoredError),
      sourceBinarySha256: Type.Optional(Type.String({ pattern: "^[0-9a-fA-F]{64}$" })),
    }),
    success: 200,
    response: Package,
    errors: ["NOT_FOUND", "LEASE_LOST"],
    repeat: "state",
  },
});
