import type { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../../base/clock.ts";
import type { Budgets, Seat } from "../kernel/budgets/budgets.ts";
import { setHeaders } from "../kernel/call/answer.ts";
import { type OpenDeps, openRoute } from "../kernel/call/open-route.ts";
import { PlatformError } from "../kernel/errors.ts";
import { isObjectKey, ObjectExistsError, ObjectTooLargeError } from "../ports/object-store.ts";
import type { ObjectFolder } from "./object-folder.ts";
import { type Permit, readPermit } from "./signed-path.ts";
import type { KeptUpload, Upload, UploadRule } from "./upload-rule.ts";

const OBJECTS_PATH = "/objects/*";
export const OBJECT_ROUTES = [
  { method: "GET", path: OBJECTS_PATH },
  { method: "PUT", path: OBJECTS_PATH },
] as const;

export interface ObjectDeps extends OpenDeps {
  readonly objects: ObjectFolder;
  /** Key made by `urlKey`. */
  readonly secret: Uint8Array;
  readonly uploads: ReadonlyMap<string, UploadRule>;
}

/** Ends an upload that is slower than 16 KiB a second over this time, because it would occupy its seat. */
const WINDOW_MS = 15_000;
const WINDOW_MIN_BYTES = 15 * 16 * 1024;

/** Uploaded content is not trusted: a browser must not show it as a page of the platform. */
const AS_A_FILE = { "x-content-type-options": "nosniff", "content-security-policy": "sandbox" };

/**
 * Serves the signed addresses that an `ObjectFolder` hands out. The address alone is the permission, until it expires.
 */
export function registerObjects(app: FastifyInstance, deps: ObjectDeps): void {
  const { engine } = deps;
  openRoute(app, deps, "GET", OBJECTS_PATH, async (request, reply) => {
    const permit = permitOf(deps, "GET", request);
    const object = await deps.objects.read(permit.key);
    if (object === undefined) throw new PlatformError("NOT_FOUND", { context: { resource: "object" } });
    setHeaders(engine, request, reply, { ...AS_A_FILE, "content-length": String(object.size) });
    return reply.type(permit.contentType).send(object.content);
  });
  void app.register((scope, _options, done) => {
    // The body is not read before the address is checked.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    openRoute(scope, deps, "PUT", OBJECTS_PATH, async (request, reply) => {
      const permit = permitOf(deps, "PUT", request);
      refuseOther(request, permit);
      const upload = await unread(() => admitted(deps, permit));
      const leave = await unread(() => takeSeat(engine.budgets, permit.key, upload.seat));
      try {
        if (upload.kept === undefined) await receive(deps, request, permit);
        else await receiveOnce(deps, request, permit, upload.kept);
      } finally {
        leave();
      }
      setHeaders(engine, request, reply, {});
      return reply.code(200).send();
    });
    done();
  });
}

/**
 * The rule for the upload. Keys without a rule of their own belong to the vendor's project: `<what>/<project id>/…`.
 */
async function admitted({ engine, uploads }: ObjectDeps, permit: Permit): Promise<Upload> {
  const [first = "", project = ""] = permit.key.split("/");
  const rule = uploads.get(first);
  return rule === undefined ? { seat: ["project-uploads", project] } : rule(engine, permit);
}

/** Takes the seats of an upload, because each one holds a file open and writes to the disk. @throws RATE_LIMITED */
function takeSeat(budgets: Budgets, key: string, tenant: Seat): () => void {
  return budgets.take(["object-uploads", key], tenant, ["uploads", "process"]);
}

/** Closes the connection when `step` refuses the upload, so that the rest of the body is not read. */
async function unread<T>(step: () => T | Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof PlatformError)
      throw new PlatformError(error.code, { ...error.detail, headers: CLOSE, cause: error });
    throw error;
  }
}

/** @throws FORBIDDEN for an address that the platform did not make, or that has expired. */
function permitOf({ engine, secret }: ObjectDeps, method: Permit["method"], request: FastifyRequest): Permit {
  const { "*": key = "" } = request.params as { readonly "*"?: string };
  const query = new URLSearchParams(request.url.split("?")[1] ?? "");
  const permit = isObjectKey(key) ? readPermit(secret, method, key, query) : undefined;
  if (permit === undefined || engine.clock.wallNow() >= permit.expiresAt) {
    throw new PlatformError("FORBIDDEN", { message: "the address is not valid, or not any more", headers: CLOSE });
  }
  return permit;
}

/** Closes the connection after a refusal: the client may still send the body, and the server will not read it. */
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

/** Reserves the announced size first; without `content-length` it reserves the largest allowed size. */
async function receiveOnce(deps: ObjectDeps, request: FastifyRequest, permit: Permit, kept: KeptUpload): Promise<void> {
  const announced = request.headers["content-length"];
  const maxBytes = announced === undefined ? permit.maxBytes : Number(announced);
  await unread(() => kept.reserve(maxBytes));
  let bytes: number;
  try {
    bytes = await receive(deps, request, { ...permit, maxBytes }, true);
  } catch (error) {
    if (!(error instanceof ObjectExistsError)) {
      await kept.broken();
      throw error;
    }
    // An earlier upload stored the file, but the platform stopped before it recorded that.
    await kept.stored(error.bytes);
    throw new PlatformError("FILE_EXISTS", { cause: error });
  }
  await kept.stored(bytes);
}

async function receive(deps: ObjectDeps, request: FastifyRequest, permit: Permit, once = false): Promise<number> {
  const { objects, draining, engine } = deps;
  const slow = new AbortController();
  const stop = watchPace(engine.clock, request.raw.socket, () => slow.abort());
  try {
    // When the connection ends, reading the body fails, which ends this too.
    const signal = AbortSignal.any([draining, slow.signal]);
    return await objects.receive(permit.key, request.raw, permit.maxBytes, signal, { once });
  } catch (error) {
    if (error instanceof ObjectTooLargeError) throw tooLarge(permit.maxBytes);
    if (slow.signal.aborted) {
      const message = "an upload must bring 16 KiB a second";
      throw new PlatformError("TIMEOUT", { message, headers: CLOSE, cause: error });
    }
    throw error;
  } finally {
    stop();
  }
}

function watchPace(clock: Clock, socket: Socket, onSlow: () => void): () => void {
  let before = socket.bytesRead;
  let cancel = (): void => undefined;
  const look = (): void => {
    cancel = clock.after(WINDOW_MS, () => {
      if (socket.bytesRead - before < WINDOW_MIN_BYTES) return onSlow();
      before = socket.bytesRead;
      look();
    });
  };
  look();
  return () => cancel();
}
