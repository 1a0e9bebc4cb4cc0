import type { FastifyInstance } from "fastify";
import { setHeaders } from "../../kernel/call/answer.ts";
import { type OpenDeps, openRoute } from "../../kernel/call/open-route.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { isLinkSignature, linkSignature } from "../../objects/signed-path.ts";
import { isObjectKey, type ObjectStore } from "../../ports/object-store.ts";

const PATH = "/charts/{id}/{signature}/{file}";
export const CHART_ROUTES = [{ method: "GET", path: PATH }] as const;
export const CHART_CONTENT_TYPE = "application/gzip";
const DOWNLOAD_MS = 15 * 60_000;

/** Names a built chart in package outputs and on portal pages. */
export interface ChartName {
  readonly packageId: string;
  /** `<name>-<version>.tgz`, the form that helm uses. */
  readonly file: string;
}

export function chartKey({ packageId, file }: ChartName): string {
  return `packages/${packageId}/${file}`;
}

/** Path of an address that does not expire: a reader of the package's outputs may pass it to helm. */
export function chartPath(secret: Uint8Array, chart: ChartName): string {
  return `/charts/${chart.packageId}/${linkSignature(secret, chartKey(chart))}/${chart.file}`;
}

/** Redirects a chart's address to a download address of the object store. */
export function registerCharts(
  app: FastifyInstance,
  deps: OpenDeps,
  { objects, secret }: { readonly objects: ObjectStore; readonly secret: Uint8Array },
): void {
  openRoute(app, deps, "GET", PATH, async (request, reply) => {
    const { id, signature, file } = request.params as { id: string; signature: string; file: string };
    const key = chartKey({ packageId: id, file });
    if (!isObjectKey(key) || !isLinkSignature(secret, key, signature)) {
      throw new PlatformError("NOT_FOUND", { context: { resource: "chart" } });
    }
    const now = deps.engine.clock.wallNow();
    const expiresAt = new Date(now.getTime() + DOWNLOAD_MS);
    const url = await objects.downloadUrl(key, { contentType: CHART_CONTENT_TYPE, now, expiresAt });
    setHeaders(deps.engine, request, reply, {});
    return reply.redirect(url, 302);
  });
}
