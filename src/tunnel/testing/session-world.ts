import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import type { WebSocket } from "ws";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { DebugSession, DebugSessionStatus } from "../../crds/kinds/debug-session.ts";
import { newSessionKey } from "../../debug-link/session-key.ts";
import { FakeRelay } from "../../debug-link/testing/fake-relay.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { JsonPatchOperation, Patch } from "../../kube/client/client-options.ts";
import type { Connection } from "../../kube/client/connection.ts";
import { FakeInformer } from "../../kube/testing/fake-informer.ts";
import { loadTunnelConfig, type TunnelConfig } from "../kernel/config.ts";
import { type TunnelMetrics, tunnelMetrics } from "../kernel/metrics.ts";
import type { SessionTools } from "../sessions/session-tools.ts";
import { Sessions } from "../sessions/sessions.ts";
import { Spool } from "../spool/spool.ts";

export const SESSION_ID = `dbg_${"a".repeat(28)}`;
export const ME = "tunnel-1";
type Tunnel = NonNullable<DebugSessionStatus["tunnel"]>;

/** One session's object, the platform and the relay, and the sessions of one tunnel in front of them. */
export class SessionWorld {
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  readonly informer = new FakeInformer<DebugSession>("DebugSession");
  readonly #disk = mkdtempSync(join(tmpdir(), "sessions-"));
  readonly folder = mkdtempSync(join(this.#disk, "spool-"));
  readonly uploaded: string[] = [];
  readonly heads: string[] = [];
  readonly ends: Promise<void>[] = [];
  /** Thrown by the next writes, one each; undefined: that one passes. */
  readonly faults: (Error | undefined)[] = [];
  writes = 0;
  onClaim: (instance: string) => void = () => undefined;
  /** False: the cache does not hear of what is written. */
  isCurrent = true;
  ticketError: Error | undefined;
  readonly registry = new Registry();
  readonly config: TunnelConfig;
  readonly metrics: TunnelMetrics;
  readonly spool: Spool;
  stored: DebugSession;
  readonly #relay: FakeRelay;
  readonly #stop = new AbortController();

  private constructor(relay: FakeRelay, status: Partial<DebugSessionStatus>) {
    this.#relay = relay;
    this.config = loadTunnelConfig({
      SALLYPORT_PLATFORM_URL: relay.platformUrl,
      SALLYPORT_RUNTIME_KEY_FILE: "/nowhere",
      SALLYPORT_TUNNEL_STRICT: "false",
      SALLYPORT_TUNNEL_SPOOL_SIZE: "1Mi",
    });
    this.metrics = tunnelMetrics(this.registry);
    this.spool = new Spool({ folder: this.folder, limitBytes: this.config.spoolBytes, metrics: this.metrics });
    this.stored = {
      apiVersion: "sallyport.dev/v1alpha1",
      kind: "DebugSession",
      metadata: {
        ...{ name: "dbg-a", namespace: "sallyport-grants", uid: "u-1", resourceVersion: "10" },
        creationTimestamp: "2026-01-01T11:59:00Z",
      },
      spec: {
        ...{ sessionId: SESSION_ID, deploymentId: "dep_1", mode: "logs", namespace: "shop", owner: "jo", reason: "" },
        ...{ clientKey: "k".repeat(43), expiresAt: "2026-01-01T13:00:00Z" },
      },
      status: { state: "Open", until: "2026-01-01T12:30:00Z", account: "debug-aaaaaaaaaaaa", ...status },
    };
  }

  /** @param prepare runs before the tunnel does. */
  static async start(
    status: Partial<DebugSessionStatus> = {},
    more: Partial<SessionTools> = {},
    prepare: (world: SessionWorld) => void = () => undefined,
  ): Promise<SessionWorld> {
    const world = new SessionWorld(await FakeRelay.start(), status);
    prepare(world);
    world.informer.set(world.stored);
    world.add(more);
    return world;
  }

  /** A tunnel in front of the object. */
  add(more: Partial<SessionTools>): void {
    const sessions = new Sessions({ ...this.#tools(), ...more }, this.informer as never);
    this.ends.push(sessions.run(this.#stop.signal));
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#relay.close();
    rmSync(this.#disk, { recursive: true });
  }

  /** As SIGTERM does. No time passes. */
  terminate(): void {
    this.#stop.abort();
  }

  async stop(): Promise<void> {
    this.terminate();
    let isOver = false;
    const over = Promise.all(this.ends).then(() => {
      isOver = true;
    });
    await this.until(() => isOver, 1_000);
    await over;
  }

  get tunnel(): Tunnel | undefined {
    return this.stored.status?.tunnel;
  }

  accept(): Promise<WebSocket> {
    return this.#relay.accept();
  }

  /** Turns the event loop until it is so; `stepMs` passes with each turn. */
  async until(done: () => boolean, stepMs = 0): Promise<void> {
    // A busy disk takes many turns for a record.
    const endMs = performance.now() + 20_000;
    for (let turn = 0; stepMs > 0 ? turn < 5_000 : performance.now() < endMs; turn += 1) {
      if (done()) return;
      await new Promise((turned) => setImmediate(turned));
      if (stepMs > 0) this.clock.advance(stepMs);
    }
    throw new Error(`it did not come to this: ${done}`);
  }

  /**
   * Time passes by what the disk does, a tenth of a second with each write. With turns of the event loop a busy disk would be
   * late for the audit, which gives a record two seconds.
   */
  async untilInTime(done: () => boolean): Promise<void> {
    for (let tenths = 0; tenths < 6_000; tenths += 1) {
      if (done()) return;
      await writeFile(join(this.#disk, "turn"), "", { flush: true });
      this.clock.advance(100);
    }
    throw new Error(`it did not come to this: ${done}`);
  }

  /** Another process writes the object. */
  write(status: Partial<DebugSessionStatus>): void {
    this.#store({ ...this.stored, status: { ...this.stored.status, ...status } });
  }

  #store(object: DebugSession): DebugSession {
    const resourceVersion = String(Number(this.stored.metadata.resourceVersion) + 1);
    this.stored = { ...object, metadata: { ...object.metadata, resourceVersion } };
    if (this.isCurrent) this.informer.set(this.stored);
    return this.stored;
  }

  async #patch(patch: Patch): Promise<DebugSession> {
    await new Promise((answered) => setImmediate(answered));
    this.writes += 1;
    const fault = this.faults.shift();
    if (fault !== undefined) throw fault;
    const { status, metadata } = this.stored;
    if (patch.type === "json") return this.#store(applied(this.stored, patch.body));
    const body = patch.body as { metadata: { resourceVersion: string }; status: { tunnel: Tunnel } };
    this.onClaim(body.status.tunnel.instance);
    if (body.metadata.resourceVersion !== metadata.resourceVersion) throw refusal(409, "Conflict");
    const merged = Object.entries({ ...status?.tunnel, ...body.status.tunnel }).filter(([, value]) => value !== null);
    return this.#store({ ...this.stored, status: { ...status, tunnel: Object.fromEntries(merged) as never } });
  }

  #tools(): SessionTools {
    const { clock } = this;
    const { config, metrics, spool } = this;
    const connection = { withToken: () => connection } as unknown as Connection;
    const tools = {
      ...{ config, clock, metrics, connection, log: silentLogger, random: () => 0.5, identity: ME, version: "1" },
      ...{ key: newSessionKey("tunnel", clock.wallNow()), proxyAgent: undefined, heardMs: () => clock.monotonicMs() },
      spool,
      uploads: { add: (names: readonly string[]) => void this.uploaded.push(...names) },
      emit: () => undefined,
      client: {
        get: async () => this.stored,
        patch: (_resource: unknown, _key: unknown, patch: Patch) => this.#patch(patch),
        createToken: async () => ({ token: "t" }),
      },
      platform: {
        debugRelay: {
          ticket: async () => {
            if (this.ticketError !== undefined) throw this.ticketError;
            return { url: this.#relay.relayUrl.replace("attach", "tunnel"), ticket: "t" };
          },
        },
        debugSessions: {
          patch: async ({ body }: { readonly body: { readonly auditHead: string } }) =>
            void this.heads.push(body.auditHead),
        },
      },
    };
    return tools as unknown as SessionTools;
  }
}

export function refusal(status: number, reason: string): ApiError {
  return new ApiError(reason, { status, reason });
}

/** `test` and `replace` of a JSON patch, as the API server does them. */
function applied(object: DebugSession, patch: readonly JsonPatchOperation[]): DebugSession {
  const copy = structuredClone(object);
  for (const { op, path, value } of patch) {
    const names = path.split("/").slice(1);
    const last = names.pop() ?? "";
    const at = names.reduce<Record<string, unknown> | undefined>(
      (inner, name) => inner?.[name] as Record<string, unknown> | undefined,
      copy as unknown as Record<string, unknown>,
    );
    const isThere = at?.[last] !== undefined;
    if (at === undefined || !isThere || (op === "test" && at[last] !== value)) throw refusal(422, "Invalid");
    if (op === "replace") at[last] = value;
  }
  return copy;
}
