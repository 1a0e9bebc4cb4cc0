import { createHash, createHmac, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream, openAsBlob } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { SignatureV4 } from "@smithy/signature-v4";
import {
  isObjectKey,
  type ObjectPage,
  type ObjectStore,
  ObjectTooLargeError,
  requireObjectKey,
  type UrlTerms,
} from "../ports/object-store.ts";

export interface S3Location {
  readonly bucket: string;
  /** Prefix of every key; empty, or with a slash at its end. */
  readonly prefix: string;
  readonly region: string;
  /** Without a trailing slash. Undefined: the region's endpoint at AWS. */
  readonly endpoint: string | undefined;
  readonly credentials: S3Credentials;
}

/** A credentials file is read again for each signature, so that keys can be rotated without a restart. */
export type S3Credentials =
  | { readonly file: string }
  | { readonly accessKeyId: string; readonly secretAccessKey: string };

type Method = "GET" | "PUT" | "DELETE";
interface Send {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Blob;
  /** SHA-256 in hex. */
  readonly bodyHash?: string;
  readonly signal: AbortSignal;
}

/** SHA-256 of an empty body. */
const NOTHING = createHash("sha256").digest("hex");

/** A bucket of an S3-compatible store. Clients upload and download there directly. */
export class S3Store implements ObjectStore {
  readonly #location: S3Location;
  readonly #base: URL;
  readonly #now: () => Date;

  constructor(location: S3Location, now: () => Date) {
    this.#location = location;
    this.#now = now;
    const { bucket, region, endpoint } = location;
    // Path-style addresses for other stores, and at AWS for buckets with dots in their names.
    this.#base =
      endpoint === undefined && !bucket.includes(".")
        ? new URL(`https://${bucket}.s3.${region}.amazonaws.com/`)
        : new URL(`${endpoint ?? `https://s3.${region}.amazonaws.com`}/${bucket}/`);
  }

  /** A signature cannot limit the size, so the size is checked when the object is read. */
  uploadUrl(key: string, terms: UrlTerms): Promise<string> {
    return this.#presign("PUT", key, terms, { "content-type": terms.contentType });
  }

  downloadUrl(key: string, terms: UrlTerms): Promise<string> {
    return this.#presign("GET", key, terms, {}, { "response-content-type": terms.contentType });
  }

  async #presign(
    method: Method,
    key: string,
    { now, expiresAt }: UrlTerms,
    headers: Readonly<Record<string, string>>,
    query: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const signer = await this.#signer();
    // The content is not known when the URL is signed.
    const unsigned = { ...headers, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
    const signed = await signer.presign(this.#request(method, this.#pathOf(key), unsigned, query), {
      signingDate: now,
      expiresIn: Math.ceil((expiresAt.getTime() - now.getTime()) / 1000),
      signableHeaders: new Set(["host", ...Object.keys(headers)]),
      unhoistableHeaders: new Set(Object.keys(headers)),
    });
    const url = new URL(signed.path, this.#base);
    for (const [name, value] of Object.entries(signed.query ?? {})) url.searchParams.set(name, String(value));
    return url.href;
  }

  async put(key: string, content: Uint8Array, contentType: string, signal: AbortSignal): Promise<void> {
    const bodyHash = createHash("sha256").update(content).digest("hex");
    const body = new Blob([new Uint8Array(content)]);
    const headers = { "content-type": contentType };
    await finish(await this.#send("PUT", this.#pathOf(key), { headers, body, bodyHash, signal }), [200]);
  }

  async putFile(key: string, file: string, contentType: string, signal: AbortSignal): Promise<void> {
    const hash = createHash("sha256");
    await pipeline(createReadStream(file), hash, { signal });
    // Read from the disk while it is sent; its length is known.
    const body = await openAsBlob(file);
    const headers = { "content-type": contentType };
    await finish(
      await this.#send("PUT", this.#pathOf(key), { headers, body, bodyHash: hash.digest("hex"), signal }),
      [200],
    );
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await finish(await this.#send("DELETE", this.#pathOf(key), { signal }), [204, 200, 404]);
  }

  async list(after: string | undefined, limit: number, signal: AbortSignal): Promise<ObjectPage> {
    const { prefix } = this.#location;
    const page = { "list-type": "2", "max-keys": String(limit), prefix };
    const query = after === undefined ? page : { ...page, "continuation-token": after };
    const answer = await this.#send("GET", "", { query, signal });
    if (answer.status !== 200) throw await refusal(answer);
    return readListing(await answer.text(), prefix);
  }

  async withFile<T>(
    key: string,
    maxBytes: number,
    work: (file: string) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const answer = await this.#send("GET", this.#pathOf(key), { signal });
    if (answer.status === 404) {
      await answer.body?.cancel();
      return undefined;
    }
    if (answer.status !== 200 || answer.body === null) throw await refusal(answer);
    if (Number(answer.headers.get("content-length")) > maxBytes) {
      await answer.body.cancel();
      throw new ObjectTooLargeError(`${key} is larger than ${maxBytes} bytes`);
    }
    const file = join(tmpdir(), `sallyport-object-${randomBytes(16).toString("hex")}`);
    try {
      const copy = createWriteStream(file, { flags: "wx", mode: 0o600 });
      await pipeline(Readable.from(bounded(answer.body, maxBytes)), copy, { signal });
      return await work(file);
    } finally {
      await rm(file, { force: true });
    }
  }

  async #send(
    method: Method,
    path: string,
    { query = {}, headers = {}, body, bodyHash = NOTHING, signal }: Send,
  ): Promise<Response> {
    const signer = await this.#signer();
    const unsigned = this.#request(method, path, { ...headers, "x-amz-content-sha256": bodyHash }, query);
    const signed = await signer.sign(unsigned, { signingDate: this.#now() });
    const url = new URL(signed.path, this.#base);
    // The same escaping as in the signature: %20, not +, for a space.
    url.search = Object.entries(query)
      .map((pair) => pair.map(encodeURIComponent).join("="))
      .join("&");
    return fetch(url, {
      method,
      headers: signed.headers,
      body: body ?? null,
      signal,
      redirect: "error",
    });
  }

  /** @param path under the bucket, escaped. */
  #request(
    method: Method,
    path: string,
    headers: Readonly<Record<string, string>>,
    query: Readonly<Record<string, string>> = {},
  ) {
    const { protocol, hostname, port, host, pathname } = this.#base;
    return {
      method,
      protocol,
      hostname,
      ...(port !== "" && { port: Number(port) }),
      path: pathname + path,
      query: { ...query },
      headers: { host, ...headers },
    };
  }

  /** The plus is the only character of a key that a store reads differently. */
  #pathOf(key: string): string {
    return (this.#location.prefix + requireObjectKey(key)).replaceAll("+", "%2B");
  }

  async #signer(): Promise<SignatureV4> {
    const { region, credentials } = this.#location;
    return new SignatureV4({
      service: "s3",
      region,
      // S3, unlike other AWS services, does not escape paths twice.
      uriEscapePath: false,
      applyChecksum: false,
      credentials: "file" in credentials ? await readCredentials(credentials.file) : credentials,
      sha256: Sha256,
    });
  }
}

/** `<access key id>:<secret access key>`. */
export function parseCredentials(text: string): { accessKeyId: string; secretAccessKey: string } | undefined {
  const [, accessKeyId, secretAccessKey] = /^([^:\s]+):(\S+)$/.exec(text.trim()) ?? [];
  return accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey };
}

async function readCredentials(file: string): Promise<{ accessKeyId: string; secretAccessKey: string }> {
  const found = parseCredentials(await readFile(file, "utf8"));
  if (found === undefined) throw new Error(`${file} does not hold <access key id>:<secret access key>`);
  return found;
}

/** @throws Error when the status is not one of `good`. */
async function finish(answer: Response, good: readonly number[]): Promise<void> {
  if (!good.includes(answer.status)) throw await refusal(answer);
  await answer.body?.cancel();
}

/** Reports the store's error code but not its text, which can contain secrets. */
async function refusal(answer: Response): Promise<Error> {
  const code = /<Code>(\w{1,64})<\/Code>/.exec(await answer.text())?.[1];
  return new Error(`the object store answered ${answer.status}${code === undefined ? "" : ` ${code}`}`);
}

/** Keys of the platform need no unescaping; other keys are ignored. */
function readListing(text: string, prefix: string): ObjectPage {
  const objects = [...text.matchAll(/<Contents>(.*?)<\/Contents>/gs)].flatMap(([, entry = ""]) => {
    const key = element(entry, "Key") ?? "";
    const modifiedAt = new Date(element(entry, "LastModified") ?? Number.NaN);
    const ours = key.startsWith(prefix) && isObjectKey(key.slice(prefix.length)) && !Number.isNaN(modifiedAt.getTime());
    return ours ? [{ key: key.slice(prefix.length), modifiedAt }] : [];
  });
  const more = element(text, "IsTruncated") === "true";
  return { objects, next: more ? element(text, "NextContinuationToken") : undefined };
}

function element(text: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
}

async function* bounded(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncIterable<Uint8Array> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new ObjectTooLargeError(`more than ${maxBytes} bytes came`);
    yield chunk;
  }
}

/** Node's SHA-256 with the interface that the signer needs. */
class Sha256 {
  readonly #hash;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", toBytes(secret));
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    throw new Error("each signature has a hash of its own");
  }
}

function toBytes(secret: string | ArrayBuffer | ArrayBufferView): string | Uint8Array {
  if (typeof secret === "string") return secret;
  return ArrayBuffer.isView(secret)
    ? new Uint8Array(secret.buffer, secret.byteOffset, secret.byteLength)
    : new Uint8Array(secret);
}
