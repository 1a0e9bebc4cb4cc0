import type { FastifyInstance, FastifyRequest } from "fastify";
import { setHeaders } from "../kernel/answer.ts";
import { PlatformError } from "../kernel/errors.ts";
import { type OpenDeps, openRoute } from "../kernel/open-route.ts";
import type { ObjectFolder } from "./object-folder.ts";
import { isObjectKey, ObjectTooLargeError } from "./object-store.ts";
import { type Permit, readPermit } from "./signed-path.ts";

export const OBJECTS_PATH = "/objects/*";
export const OBJECT_ROUTES = [
  { method: "GET", path: OBJECTS_PATH },
  { method: "PUT", path: OBJECTS_PATH },
] as const;

export interface ObjectDeps extends OpenDeps {
  readonly objects: ObjectFolder;
  /** Of `urlKey`. */
  readonly secret: Uint8Array;
}

/** Each holds a file open and writes to the disk. */
const MAX_UPLOADS_AT_ONCE = 16;

/** What is uploaded is a stranger's: no browser may take it for a page of ours. */
const AS_A_FILE = { "x-content-type-options": "nosniff", "content-security-policy": "sandbox" };

/** The addresses that an `ObjectFolder` hands out: whoever has one may do what it says, until it ends. */
export function registerObjects(app: FastifyInstance, deps: ObjectDeps): void {
  const { engine } = deps;
  let uploads = 0;
  openRoute(app, deps, "GET", OBJECTS_PATH, async (request, reply) => {
    const permit = permitOf(deps, "GET", request);
    const object = await deps.objects.read(permit.key);
    if (object === undefined) throw new PlatformError("NOT_FOUND", { context: { resource: "object" } });
    setHeaders(engine, request, reply, { ...AS_A_FILE, "content-length": String(object.size) });
    return reply.type(permit.contentType).send(object.content);
  });
  void app.register((scope, _options, done) => {
    // The body is not read before it is known where to.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    openRoute(scope, deps, "PUT", OBJECTS_PATH, async (request, reply) => {
      const permit = permitOf(deps, "PUT", request);
      refuseOther(request, permit);
      if (uploads >= MAX_UPLOADS_AT_ONCE) throw new PlatformError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 5 });
      uploads += 1;
      try {
        await receive(deps, request, permit);
      } finally {
        uploads -= 1;
      }
      setHeaders(engine, request, reply, {});
      return reply.code(200).send();
    });
    done();
  });
}

/** @throws FORBIDDEN for an address that we did not make, or that is over. */
function permitOf({ engine, secret }: ObjectDeps, method: Permit["method"], request: FastifyRequest): Permit {
  const { "*": key = "" } = request.params as { readonly "*"?: string };
  const query = new URLSearchParams(request.url.split("?")[1] ?? "");
  const permit = isObjectKey(key) ? readPermit(secret, method, key, query) : undefined;
  if (permit === undefined || engine.clock.wallNow() >= permit.expiresAt) {
    throw new PlatformError("FORBIDDEN", { message: "the address is not valid, or not any more", headers: CLOSE });
  }
  return permit;
}

/** What was refused may still be coming: nobody reads it. */
const CLOSE = { connection: "close" };

function refuseOther({ headers }: FastifyRequest, { contentType, maxBytes }: Permit): void {
  if (headers["content-type"] !== contentType) {
    throw new PlatformError("UNSUPPORTED_MEDIA_TYPE", {
      message: `content-type must be ${contentType}`,
      headers: CLOSE,
    });
  }
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

function tooLarge(maxBytes: number): PlatformError {
  return new PlatformError("PAYLOAD_TOO_LARGE", { message: `at most ${maxBytes} bytes`, headers: CLOSE });
}

async function receive({ objects, draining }: ObjectDeps, request: FastifyRequest, permit: Permit): Promise<void> {
  try {
    // The end of the connection ends it too.
    await objects.receive(permit.key, request.raw, permit.maxBytes, draining);
  } catch (error) {
    if (error instanceof ObjectTooLargeError) throw tooLarge(permit.maxBytes);
    throw error;
  }
}
