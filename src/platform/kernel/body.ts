import { invalid, PlatformError } from "./errors.ts";

const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The JSON body, or undefined when there is none.
 * @throws UNSUPPORTED_MEDIA_TYPE, MALFORMED_JSON (also for bytes that are not UTF-8).
 */
export function parseBody(raw: Buffer | undefined, contentType: string | undefined): unknown {
  if (raw === undefined || raw.length === 0) return undefined;
  if (contentType === undefined || !JSON_TYPE.test(contentType)) throw new PlatformError("UNSUPPORTED_MEDIA_TYPE");
  try {
    return JSON.parse(utf8.decode(raw));
  } catch (error) {
    throw new PlatformError("MALFORMED_JSON", { cause: error });
  }
}

/** Endpoints without a body accept none or `{}` (§0.1). */
export function refuseBody(body: unknown): void {
  if (body === undefined) return;
  const keys = typeof body === "object" && body !== null && !Array.isArray(body) ? Object.keys(body) : undefined;
  if (keys === undefined) throw invalid({ path: "body", message: "must be absent or {}" });
  if (keys.length > 0) {
    throw invalid(...keys.map((key) => ({ path: `body.${key.slice(0, 128)}`, message: "is not a known key" })));
  }
}
