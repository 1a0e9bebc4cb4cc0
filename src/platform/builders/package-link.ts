import type { FastifyInstance } from "fastify";
import { setHeaders } from "../kernel/call/answer.ts";
import { type OpenDeps, openRoute } from "../kernel/call/open-route.ts";
import { PlatformError } from "../kernel/errors.ts";
import { isLinkSignature, linkSignature } from "../objects/signed-path.ts";
import { isObjectKey, type ObjectStore } from "../ports/object-store.ts";

/** Files of one kind, at addresses of their own. */
interface PackageFiles {
  readonly path: string;
  readonly contentType: string;
  /** For the error when there is none. */
  readonly resource: string;
}

export const CHARTS: PackageFiles = { path: "/charts", contentType: "application/gzip", resource: "chart" };
export const IMAGES: PackageFiles = { path: "/images", contentType: "application/x-tar", resource: "image" };

const ALL = [CHARTS, IMAGES];
export const PACKAGE_FILE_ROUTES = ALL.map((files) => ({ method: "GET", path: template(files) }) as const);
const DOWNLOAD_MS = 15 * 60_000;

/** Names what a builder made, in package outputs and on portal pages. */
export interface PackageFile {
  readonly packageId: string;
  /** Of a chart `<name>-<version>.tgz`, the form that helm uses. */
  readonly file: string;
}

function template({ path }: PackageFiles): string {
  return `${path}/{id}/{signature}/{file}`;
}

export function packageKey({ packageId, file }: PackageFile): string {
  return `packages/${packageId}/${file}`;
}

/** Path of an address that does not expire: a reader of the package's outputs may pass it to a program. */
export function packagePath(secret: Uint8Array, { path }: PackageFiles, named: PackageFile): string {
  return `${path}/${named.packageId}/${linkSignature(secret, packageKey(named))}/${named.file}`;
}

/** Redirects the addresses of packages to download addresses of the object store. */
export function registerPackageFiles(
  app: FastifyInstance,
  deps: OpenDeps,
  { objects, secret }: { readonly objects: ObjectStore; readonly secret: Uint8Array },
): void {
  for (const files of ALL) {
    const { contentType, resource } = files;
    openRoute(app, deps, "GET", template(files), async (request, reply) => {
      const { id, signature, file } = request.params as { id: string; signature: string; file: string };
      const key = packageKey({ packageId: id, file });
      if (!isObjectKey(key) || !isLinkSignature(secret, key, signature)) {
        throw new PlatformError("NOT_FOUND", { context: { resource } });
      }
      const now = deps.engine.clock.wallNow();
      const expiresAt = new Date(now.getTime() + DOWNLOAD_MS);
      const url = await objects.downloadUrl(key, { contentType, now, expiresAt });
      setHeaders(deps.engine, request, reply, {});
      return reply.redirect(url, 302);
    });
  }
}
