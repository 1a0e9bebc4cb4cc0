import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  jsonEncoding,
  type PodFixture,
  protobufEncoding,
  type StatusFixture,
  type WireEncoding,
} from "./pod-encoding.ts";

/** What the fake does to the next request that fits; used up by it. */
export type Fault =
  /** Answer with this status instead. */
  | { readonly of: "watch" | "list" | "any"; readonly status: number; readonly retryAfter?: string }
  /** Cut the connection after so many bytes of the watch's body. */
  | { readonly of: "watch"; readonly cutAfterBytes: number }
  /** Send these bytes in the stream after the initial events, as a broken proxy would. */
  | { readonly of: "watch"; readonly garbage: Buffer }
  /** Accept the watch and never say anything. */
  | { readonly of: "watch"; readonly silent: true };

interface OpenWatch {
  readonly response: ServerResponse;
  readonly encoding: WireEncoding;
  send(bytes: Buffer): void;
}

type Recorded = {
  readonly resourceVersion: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly pod: PodFixture;
};

/**
 * The parts of the API server's list and watch protocol that a real server cannot be made to show on demand.
 *
 * One kind (pods of one namespace), in memory, on a real socket. What it says is what kube-apiserver says; when in
 * doubt, test/integration asks the real one.
 */
export class FakeApiServer {
  /** Bytes per write of a watch's body: 1 splits at every byte. */
  chunkBytes = Number.POSITIVE_INFINITY;
  /** False: `sendInitialEvents` is refused with 422, as by servers that have it turned off. */
  watchListSupported = true;
  /** False: the mark that ends the initial events does not come through. `"close"`: the stream ends there. */
  marksInitialEnd: boolean | "close" = true;
  pageLimit = Number.POSITIVE_INFINITY;
  /** Requests as "METHOD path?query", in order. */
  readonly requests: string[] = [];
  readonly faults: Fault[] = [];
  readonly pods = new Map<string, PodFixture>();
  readonly #server: Server;
  readonly #watches = new Set<OpenWatch>();
  #history: Recorded[] = [];
  #compactedTo = 0;
  #version = 100;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<FakeApiServer> {
    const server = createServer();
    const fake = new FakeApiServer(server);
    server.on("request", (request, response) => fake.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Creates or changes a pod, and tells all watches. */
  put(name: string, phase: string, note?: string): void {
    const type = this.pods.has(name) ? "MODIFIED" : "ADDED";
    const pod = { name, phase, resourceVersion: String(this.#next()), ...(note !== undefined && { note }) };
    this.pods.set(name, pod);
    this.#record(type, pod);
  }

  remove(name: string): void {
    const pod = this.pods.get(name);
    if (pod === undefined) return;
    this.pods.delete(name);
    this.#record("DELETED", { ...pod, resourceVersion: String(this.#next()) });
  }

  bookmark(): void {
    for (const watch of this.#watches) watch.send(watch.encoding.bookmark(String(this.#version), false));
  }

  /** Sends the last event again on every watch, as a watch cache that starts over may. */
  repeat(): void {
    const last = this.#history.at(-1);
    if (last === undefined) return;
    for (const watch of this.#watches) watch.send(watch.encoding.event(last.type, last.pod));
  }

  /** Forgets history: to resume from before now is a 410. */
  compact(): void {
    this.#compactedTo = this.#next();
    this.#history = [];
  }

  /** An ERROR event on every watch, which then ends. */
  fail(status: StatusFixture): void {
    for (const watch of this.#watches) {
      watch.send(watch.encoding.error(status));
      watch.response.end();
    }
  }

  /** Ends every watch: politely, or by cutting the socket. */
  disconnect(how: "close" | "cut"): void {
    for (const { response } of this.#watches) {
      if (how === "close") response.end();
      else response.destroy();
    }
    this.#watches.clear();
  }

  #next(): number {
    this.#version += 1;
    return this.#version;
  }

  #record(type: Recorded["type"], pod: PodFixture): void {
    this.#history.push({ resourceVersion: this.#version, type, pod });
    for (const watch of this.#watches) watch.send(watch.encoding.event(type, pod));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push(`${request.method} ${request.url}`);
    response.on("error", () => undefined);
    const url = new URL(request.url ?? "/", "http://fake");
    const isWatch = url.searchParams.get("watch") === "true";
    const encoding = request.headers.accept?.includes("protobuf") ? protobufEncoding : jsonEncoding;
    const fault = this.#takeFault(isWatch ? "watch" : "list");
    if (fault !== undefined && "status" in fault) {
      this.#refuse(response, { code: fault.status }, fault.retryAfter);
    } else if (isWatch) {
      this.#watch(url.searchParams, encoding, response, fault);
    } else {
      this.#list(url.searchParams, encoding, response);
    }
  }

  #takeFault(of: "watch" | "list"): Fault | undefined {
    const at = this.faults.findIndex((fault) => fault.of === of || fault.of === "any");
    return at < 0 ? undefined : this.faults.splice(at, 1)[0];
  }

  #refuse(response: ServerResponse, status: StatusFixture, retryAfter?: string): void {
    response.writeHead(status.code, {
      "content-type": "application/json",
      ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
    });
    response.end(
      JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message: "refused", ...status }),
    );
  }

  #list(query: URLSearchParams, encoding: WireEncoding, response: ServerResponse): void {
    const [version = this.#version, from = 0] = (query.get("continue") ?? "").split(":").filter(Boolean).map(Number);
    // A page further on must be of the same version; the fake keeps no old ones.
    if (version !== this.#version && from > 0) {
      this.#refuse(response, { code: 410, reason: "Expired" });
      return;
    }
    const limit = Math.min(Number(query.get("limit") ?? this.pageLimit), this.pageLimit);
    const all = [...this.pods.values()];
    const next = from + limit < all.length ? `${version}:${from + limit}` : "";
    response.writeHead(200, { "content-type": encoding.listType });
    response.end(encoding.list(all.slice(from, from + limit), String(version), next));
  }

  #watch(query: URLSearchParams, encoding: WireEncoding, response: ServerResponse, fault: Fault | undefined): void {
    const initial = query.get("sendInitialEvents") === "true";
    if (initial && !this.watchListSupported) {
      this.#refuse(response, { code: 422, reason: "Invalid" });
      return;
    }
    response.writeHead(200, { "content-type": encoding.watchType });
    response.flushHeaders();
    const watch = this.#open(response, encoding, fault);
    if (fault !== undefined && "silent" in fault) return;
    if (initial) {
      for (const pod of this.pods.values()) watch.send(encoding.event("ADDED", pod));
      if (this.marksInitialEnd === true) watch.send(encoding.bookmark(String(this.#version), true));
      if (this.marksInitialEnd === "close") return void response.end();
    } else {
      const since = Number(query.get("resourceVersion"));
      if (since < this.#compactedTo) {
        watch.send(encoding.error({ code: 410, reason: "Expired" }));
        response.end();
        return;
      }
      for (const { resourceVersion, type, pod } of this.#history) {
        if (resourceVersion > since) watch.send(encoding.event(type, pod));
      }
    }
    if (fault !== undefined && "garbage" in fault) watch.send(fault.garbage);
    this.#watches.add(watch);
    response.on("close", () => this.#watches.delete(watch));
  }

  #open(response: ServerResponse, encoding: WireEncoding, fault: Fault | undefined): OpenWatch {
    let left = fault !== undefined && "cutAfterBytes" in fault ? fault.cutAfterBytes : Number.POSITIVE_INFINITY;
    const send = (bytes: Buffer): void => {
      if (response.destroyed || response.writableEnded) return;
      const allowed = bytes.subarray(0, Math.min(bytes.length, left));
      for (let at = 0; at < allowed.length; at += this.chunkBytes)
        response.write(allowed.subarray(at, at + this.chunkBytes));
      left -= allowed.length;
      // After what was written is on the wire, so that the cut falls where it was asked for.
      if (left <= 0) response.write("", () => response.destroy());
    };
    return { response, encoding, send };
  }
}
