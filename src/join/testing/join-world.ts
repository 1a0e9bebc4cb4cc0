import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type RequestOptions, request } from "node:https";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import { TLSSocket } from "node:tls";
import type { ApiError as PlatformError } from "../../api-client/api-error.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import type { MachineJoin, MachineJoinStatus } from "../../crds/kinds/machine-join.ts";
import type { MachinePool, MachinePoolSpec } from "../../crds/kinds/machine-pool.ts";
import { newSessionKey, pinOf } from "../../debug-link/session-key.ts";
import type { KeyAndCertificate } from "../../debug-link/x509.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { answerOf } from "../joins/answer.ts";
import { Joins, type JoinsOptions } from "../joins/joins.ts";
import { Leaves } from "../joins/leaves.ts";
import { curlPin } from "../joins/own-key.ts";
import type { Rejection } from "../kernel/metrics.ts";
import type { Platform } from "../kernel/routes.ts";
import { JoinServer } from "../serving/join-server.ts";
import { joinRoutes, type RoutesOptions } from "../serving/routes.ts";
import { Waiting } from "../serving/waiting.ts";

const NAMESPACE = "sallyport-grants";
export const TOKEN = `spj_${"a".repeat(16)}.${"B".repeat(32)}`;
const CLUSTER_ID = `cluster_${"0".repeat(28)}`;

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly json: Readonly<Record<string, string>>;
}

interface Ask {
  readonly body?: string | Buffer;
  readonly token?: string;
  readonly text?: boolean;
  /** The client certificate. */
  readonly shown?: KeyAndCertificate;
}

interface WorldOptions {
  readonly scripts?: RoutesOptions["scripts"];
  /** Whose certificates of nodes are good. */
  readonly nodeCa?: string;
}

const SCRIPTS = { script: "#!/bin/sh\n", "leave-script": "#!/bin/sh\n" };

/** A join server with its real HTTPS, before a platform and an API server of the test's making. */
export class JoinWorld {
  readonly key = newSessionKey("sallyport-join", new Date());
  readonly rejected: Rejection[] = [];
  readonly joins = new Map<string, MachineJoin>();
  readonly drains = new Map<string, MachineDrain>();
  /** Bodies that the platform got. */
  readonly redeemed: Parameters<Platform["machines"]["join"]>[0]["body"][] = [];
  /** Heads of requests that the server read, in order. */
  readonly heads: string[] = [];
  readonly waiting: Waiting;
  /** Requests over connections on which the client has shown a certificate. */
  shownCertificates = 0;
  pools: MachinePool[] = [pool("workers", "dep_1")];
  /** What the platform says instead of yes. */
  refusal: PlatformError | undefined;
  deploymentId = "dep_1";
  serverVersion = "v1.36.3";
  apiServer = "https://10.0.0.10:6443";
  ca = newSessionKey("ca", new Date()).certificate;
  readonly #server: JoinServer;

  constructor(clock: Clock = systemClock, { scripts = SCRIPTS, nodeCa = "" }: WorldOptions = {}) {
    const metrics = {
      rejected: (reason: Rejection) => void this.rejected.push(reason),
      ...{ joined: () => undefined, took: () => undefined },
    };
    this.waiting = new Waiting(clock, () => undefined);
    const joins = new Joins({
      ...{ namespace: NAMESPACE, apiServer: "", clock: systemClock, log: silentLogger, metrics },
      pools: () => this.pools,
      joins: () => this.joins.values(),
      platform: this.#platform(),
      client: this.#client(this.joins),
    });
    const leaves = new Leaves({
      ...{ namespace: NAMESPACE, clock: systemClock, log: silentLogger, client: this.#client(this.drains) },
      pools: () => this.pools,
      joins: () => this.joins.values(),
      drainsOf: (node) => [...this.drains.values()].filter(({ spec }) => spec.nodeName === node),
    });
    const routes = joinRoutes({
      ...{ joins, leaves: nodeCa === "" ? undefined : leaves },
      joinOf: (uid) => [...this.joins.values()].find(({ metadata }) => metadata.uid === uid),
      answer: (join) =>
        answerOf(
          join,
          this.pools.find(({ metadata }) => metadata.name === join.spec.pool),
          {
            ...{ ca: this.ca, serverVersion: this.serverVersion, apiServer: this.apiServer },
            ...{ clusterDns: "10.96.0.10", clusterDomain: "cluster.local" },
          },
        ),
      ...{ waiting: this.waiting, scripts, version: "0.1.0", clock: systemClock, metrics },
      serverVersion: () => this.serverVersion,
    });
    this.#server = new JoinServer({
      ...{ host: "127.0.0.1", port: 0, pair: { cert: this.key.certificate, key: this.key.key } },
      ...{ clock, log: silentLogger, metrics, ca: nodeCa === "" ? undefined : nodeCa },
      answer: (request, response, visit) => {
        if ((request.socket as TLSSocket).getPeerX509Certificate?.() !== undefined) this.shownCertificates += 1;
        this.heads.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`);
        return routes(request, response, visit);
      },
    });
  }

  static async start(clock?: Clock, options?: WorldOptions): Promise<JoinWorld> {
    const world = new JoinWorld(clock, options);
    await world.#server.listen();
    return world;
  }

  get port(): number {
    return this.#server.port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  joinString(changed: object = {}): string {
    const pin = curlPin({ cert: this.key.certificate, key: "" });
    const fields = { token: TOKEN, url: this.url, clusterId: CLUSTER_ID, pin, exp: 4_102_444_800, ...changed };
    return `spj1_${Buffer.from(JSON.stringify(fields)).toString("base64url")}`;
  }

  /** Where the kubelets of the pool reach the API server. */
  servesApiAt(apiServer: string): void {
    this.#change({ apiServer });
  }

  setLabels(labels: Readonly<Record<string, string>>): void {
    this.#change({ labels });
  }

  #change(spec: Partial<MachinePoolSpec>): void {
    this.pools = this.pools.map((each) => ({ ...each, spec: { ...each.spec, ...spec } }));
  }

  /** As the machine controller and the customer do. */
  report(name: string, status: MachineJoinStatus, spec: Partial<MachineJoin["spec"]> = {}): void {
    const join = this.joins.get(name);
    if (join === undefined) throw new Error(`no join ${name}`);
    this.joins.set(name, { ...join, spec: { ...join.spec, ...spec }, status });
    this.waiting.wake(join.metadata.uid);
  }

  /** One request; rejects when the server has another key than it should. */
  ask(method: string, url: string, options: Ask = {}) {
    const headers = {
      ...(options.token !== undefined && { authorization: `Join ${options.token}` }),
      ...(options.text === true && { accept: "text/plain" }),
    };
    const { certificate: cert, key } = options.shown ?? {};
    const shown = cert !== undefined && key !== undefined && { cert, key };
    const wire: RequestOptions = { method, path: url, headers, agent: false, rejectUnauthorized: false, ...shown };
    return new Promise<Reply>((resolve, reject) => {
      const asked = request({ ...wire, host: "127.0.0.1", port: this.port }, (response) => {
        const { socket } = response;
        if (!(socket instanceof TLSSocket) || pinOf(socket.getPeerCertificate().raw) !== this.key.pin) {
          return reject(new Error("another key"));
        }
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const json = text.startsWith("{") ? (JSON.parse(text) as Record<string, string>) : {};
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
        });
        response.on("error", reject);
      });
      asked.on("error", reject);
      asked.end(options.body);
    });
  }

  async close(): Promise<void> {
    this.waiting.close();
    await this.#server.close(100);
  }

  #platform(): Platform {
    const join: Platform["machines"]["join"] = async ({ body }) => {
      this.redeemed.push(body);
      if (this.refusal !== undefined) throw this.refusal;
      return { deploymentId: this.deploymentId, clusterId: CLUSTER_ID, tokenId: "0123456789abcdef", joinCount: 1 };
    };
    return { machines: { join, joinServer: async () => ({ reportedAt: "" }) }, close: async () => undefined };
  }

  #client(objects: Map<string, object>): JoinsOptions["client"] {
    const store = async (_: unknown, object: { readonly metadata: { readonly name?: string } }) => {
      const { name = "" } = object.metadata;
      if (objects.has(name)) throw new ApiError("it exists", { status: 409, reason: "AlreadyExists" });
      const uid = `00000000-0000-4000-8000-${String(objects.size).padStart(12, "0")}`;
      const creationTimestamp = new Date().toISOString();
      const made = {
        ...object,
        metadata: { name, namespace: NAMESPACE, uid, resourceVersion: "1", creationTimestamp },
      };
      objects.set(name, made);
      return made;
    };
    const get = async (_: unknown, { name }: { readonly name: string }) => objects.get(name);
    return { create: store, get } as unknown as JoinsOptions["client"];
  }
}

export function pool(name: string, deploymentId: string, spec: Partial<MachinePoolSpec> = {}): MachinePool {
  return {
    ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "MachinePool" },
    metadata: {
      ...{ name, namespace: NAMESPACE, uid: name, resourceVersion: "1" },
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { deploymentId, namePrefix: "m-", apiServer: "https://10.0.0.10:6443", ...spec },
  };
}

/** A machine's request as openssl makes it, and a certificate for its key. */
export function machineRequest(nodeName: string): { readonly request: string; readonly certificate: string } {
  const folder = mkdtempSync(path(tmpdir(), "machine-"));
  try {
    const run = (...args: readonly string[]): Buffer =>
      execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
    writeFileSync(path(folder, "key.pem"), newSessionKey("machine", new Date()).key);
    const subject = ["-subj", `/O=system:nodes/CN=system:node:${nodeName}`];
    const request = run("req", "-new", "-key", "key.pem", ...subject, "-outform", "DER").toString("base64");
    const certificate = run("req", "-x509", "-new", "-key", "key.pem", ...subject, "-days", "1").toString();
    return { request, certificate: new X509Certificate(certificate).toString() };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
