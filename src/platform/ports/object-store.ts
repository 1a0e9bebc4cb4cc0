/** What a signed URL allows, and until when. */
export interface UrlTerms {
  readonly contentType: string;
  readonly now: Date;
  readonly expiresAt: Date;
}

export interface UploadTerms extends UrlTerms {
  readonly maxBytes: number;
  /**
   * The API key that the address is handed out to. The platform's own folder refuses the upload once that key is
   * revoked.
   */
  readonly holder?: string;
}

/**
 * Stores files that are too large for the database: plugin bundles, packages, recordings. A key is a path of
 * `isObjectKey`. An upload becomes visible only when it is complete, and replaces an earlier one.
 */
export interface ObjectStore {
  /** A URL that accepts a PUT of that content type. */
  uploadUrl(key: string, terms: UploadTerms): Promise<string>;
  /** A URL that answers a GET. The object need not exist yet. */
  downloadUrl(key: string, terms: UrlTerms): Promise<string>;
  put(key: string, content: Uint8Array, contentType: string, signal: AbortSignal): Promise<void>;
  /** The same with a local file's content. */
  putFile(key: string, file: string, contentType: string, signal: AbortSignal): Promise<void>;
  /** Does nothing when there is no such object. */
  remove(key: string, signal: AbortSignal): Promise<void>;
  /**
   * At most `limit` objects after an earlier page, in the store's own order. Objects stored or removed during the walk
   * may be listed or not.
   * @param after `next` of the page before; undefined: from the beginning.
   */
  list(after: string | undefined, limit: number, signal: AbortSignal): Promise<ObjectPage>;
  /**
   * Gives `work` the object as a local file. A later upload does not change that file, and it is deleted when `work`
   * ends.
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

/** An object with this key exists and is not replaced. */
export class ObjectExistsError extends Error {
  override readonly name = "ObjectExistsError";
  readonly bytes: number;

  constructor(key: string, bytes: number) {
    super(`there is an object ${key}`);
    this.bytes = bytes;
  }
}

/** Segments that every file system takes as plain names. */
const KEY = /^[a-z0-9][A-Za-z0-9._+-]*(\/[A-Za-z0-9][A-Za-z0-9._+-]*){0,7}$/;
const MAX_KEY_LENGTH = 512;

export function isObjectKey(key: string): boolean {
  return key.length <= MAX_KEY_LENGTH && KEY.test(key) && key.split("/").every((segment) => segment.length <= 200);
}

/** @throws Error for a key that is not valid. The platform makes keys from ids and checked names, so that is a bug. */
export function requireObjectKey(key: string): string {
  if (!isObjectKey(key)) throw new Error("not an object key");
  return key;
}
