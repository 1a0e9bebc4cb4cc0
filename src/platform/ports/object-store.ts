/** Who may do what with a URL, and until when. */
export interface UrlTerms {
  readonly contentType: string;
  readonly now: Date;
  readonly expiresAt: Date;
}

export interface UploadTerms extends UrlTerms {
  readonly maxBytes: number;
  /** The API key that the address is handed out to: the platform's own folder takes nothing once it is revoked. */
  readonly holder?: string;
}

/**
 * Where files lie that are too large for the database: plugin bundles, packages, recordings. A key is a path of
 * `isObjectKey`. Uploads become visible whole or not at all, and the last one wins.
 */
export interface ObjectStore {
  /** A URL that takes a PUT of that content type. */
  uploadUrl(key: string, terms: UploadTerms): Promise<string>;
  /** A URL that answers a GET. Made also for an object that is not there yet. */
  downloadUrl(key: string, terms: UrlTerms): Promise<string>;
  put(key: string, content: Uint8Array, contentType: string, signal: AbortSignal): Promise<void>;
  /** The same with a local file's content. */
  putFile(key: string, file: string, contentType: string, signal: AbortSignal): Promise<void>;
  /** Of an object that is not there too. */
  remove(key: string, signal: AbortSignal): Promise<void>;
  /**
   * At most `limit` objects, in an order of the store's own, after those of an earlier page. What is put or removed
   * meanwhile may be in it or not.
   * @param after `next` of the page before; undefined: from the beginning.
   */
  list(after: string | undefined, limit: number, signal: AbortSignal): Promise<ObjectPage>;
  /**
   * Lends the object as a local file: as it is now, whatever is uploaded meanwhile. It is gone afterwards.
   * @returns undefined when there is no such object.
   * @throws ObjectTooLargeError before anything is copied.
   */
  withFile<T>(
    key: string,
    maxBytes: number,
    work: (file: string) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | undefined>;
}

export interface ObjectPage {
  readonly objects: readonly { readonly key: string; readonly modifiedAt: Date }[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

export class ObjectTooLargeError extends Error {
  override readonly name = "ObjectTooLargeError";
}

/** There is one under the key, and it is not replaced. */
export class ObjectExistsError extends Error {
  override readonly name = "ObjectExistsError";
  readonly bytes: number;

  constructor(key: string, bytes: number) {
    super(`there is an object ${key}`);
    this.bytes = bytes;
  }
}

/** Segments that no file system reads as anything but a name. */
const KEY = /^[a-z0-9][A-Za-z0-9._+-]*(\/[A-Za-z0-9][A-Za-z0-9._+-]*){0,7}$/;
const MAX_KEY_LENGTH = 512;

export function isObjectKey(key: string): boolean {
  return key.length <= MAX_KEY_LENGTH && KEY.test(key) && key.split("/").every((segment) => segment.length <= 200);
}

/** @throws Error: keys are made here, of ids and checked names. */
export function requireObjectKey(key: string): string {
  if (!isObjectKey(key)) throw new Error("not an object key");
  return key;
}
