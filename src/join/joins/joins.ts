import { ApiError as PlatformError } from "../../api-client/api-error.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { type MachineJoin, machineJoins } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import type { JoinMetrics } from "../kernel/metrics.ts";
import { Refusal } from "../kernel/refusal.ts";
import type { Platform } from "../kernel/routes.ts";
import type { Ask } from "./ask.ts";
import { actingPools, prefixOf } from "./pools.ts";
import { signerRefusal } from "./signer.ts";

export interface JoinsOptions {
  readonly platform: Platform;
  readonly client: Pick<Client, "create" | "get">;
  readonly namespace: string;
  // From the cache.
  readonly pools: () => Iterable<MachinePool>;
  readonly joins: () => Iterable<MachineJoin>;
  /** For pools without one; empty: there is none. */
  readonly apiServer: string;
  /** Its calendar is the API server's. */
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<JoinMetrics, "joined">;
}

const RETRY_SECONDS = 15;
/** Joins of a pool that wait, or of which no machine came within the last day, beside as many as it has places: 4 KB each. */
const MAX_HOPEFUL = 1_000;
const DAY_MS = 24 * 3_600_000;
const HOPEFUL: readonly string[] = ["Waiting", "Denied", "Expired"];

/** Lets machines ask: the platform says whether the token is good, a pool of the customer's whether machines may join at all. */
export class Joins {
  readonly #options: JoinsOptions;

  constructor(options: JoinsOptions) {
    this.#options = options;
  }

  /**
   * The join of this machine: a new one, or the one that it asked for before with the same key.
   * @throws Refusal
   */
  async ask(ask: Ask, token: string, signal: AbortSignal): Promise<MachineJoin> {
    this.#requireSigner(this.#fitting(actingPools(this.#options.pools()), ask), ask);
    const { deploymentId, tokenId } = await this.#redeem(ask, token, signal);
    const pools = actingPools(this.#options.pools()).filter(({ spec }) => spec.deploymentId === deploymentId);
    this.#requireSigner(this.#fitting(pools, ask), ask);
    const [pool] = pools;
    if (pool === undefined) throw noPool();
    const { until, apiServer = this.#options.apiServer } = pool.spec;
    if (until !== undefined && new Date(until) <= this.#options.clock.wallNow()) {
      throw new Refusal(409, "POOL_CLOSED", "pool-closed", `the pool takes no machines since ${until}`);
    }
    if (apiServer === "") {
      const words = `the pool says not where the API server is: set spec.apiServer of machinepool ${pool.metadata.name}`;
      throw new Refusal(503, "NO_API_SERVER", "no-pool", words, RETRY_SECONDS);
    }
    return this.#create(pool, ask, tokenId, signal);
  }

  /** Before the platform is asked, so that no place of the token is lost for a machine that cannot join. */
  #fitting(pools: readonly MachinePool[], { nodeName }: Ask): readonly MachinePool[] {
    if (pools.length === 0) throw noPool();
    const fitting = pools.filter((pool) => nodeName.startsWith(prefixOf(pool)));
    if (fitting.length > 0) return fitting;
    const prefixes = [...new Set(pools.map(prefixOf))].sort().slice(0, 3).join(" or ");
    const words = `names of machines here begin with ${prefixes}: join again with --node-name`;
    throw new Refusal(409, "NAME_NOT_ALLOWED", "name-not-allowed", words);
  }

  /** One that asked before, with the same key, costs nothing. */
  #requireSigner(pools: readonly MachinePool[], { publicKey }: Ask): void {
    const known = [...this.#options.joins()];
    if (known.some(({ spec }) => spec.publicKey === publicKey)) return;
    const now = this.#options.clock.wallNow();
    const refusals = pools.map((pool) => signerRefusal(pool, known, now));
    if (refusals.every((refusal) => refusal !== undefined)) throw refusals[0];
  }

  /** A token that many know, or a platform that lets everything in, does not fill the API server. */
  #requireRoom({ metadata, spec: { maxMachines = 10 } }: MachinePool, name: string): void {
    const { joins, clock } = this.#options;
    const sinceMs = clock.wallNow().getTime() - DAY_MS;
    let hopeful = 0;
    for (const { metadata: known, spec, status } of joins()) {
      if (known.name === name) return;
      if (spec.pool !== metadata.name) continue;
      const state = status?.state ?? "Waiting";
      if (!HOPEFUL.includes(state)) continue;
      if (state === "Waiting" || Date.parse(known.creationTimestamp) > sinceMs) hopeful += 1;
    }
    if (hopeful < MAX_HOPEFUL + maxMachines) return;
    const words = `${hopeful} machines asked to join ${metadata.name} and were not let in; delete their MachineJoins`;
    throw new Refusal(503, "TOO_MANY_JOINS", "waiting-full", words, 900);
  }

  async #redeem(ask: Ask, joinToken: string, signal: AbortSignal) {
    const { machineId, publicKey, nodeName, facts } = ask;
    const body = {
      joinToken,
      machineId,
      publicKey,
      nodeName,
      ...(facts.zone !== undefined && { zone: facts.zone }),
      ...(facts.kubelet !== undefined && { runtimeDaemonVersion: facts.kubelet }),
      ...(facts.address !== undefined && { publicIp: facts.address }),
    };
    try {
      return await this.#options.platform.machines.join({ body }, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof PlatformError ? this.#refusalOf(error) : error;
    }
  }

  #refusalOf(error: PlatformError): Refusal {
    const { code, status, message, hint, retryAfterMs } = error;
    const words = hint === undefined ? message : `${message}: ${hint}`;
    if (status === 401 && code.startsWith("JOIN_TOKEN_")) return new Refusal(401, code, "bad-token", words);
    if (status === 409) {
      return new Refusal(409, code, code === "JOIN_TOKEN_EXHAUSTED" ? "token-used-up" : "taken", words);
    }
    // A form of token that the platform knows nothing of; all else of the request was checked here.
    if (status === 400) return new Refusal(401, "JOIN_TOKEN_INVALID", "bad-token", "the token is no join token");
    this.#options.log.warn({ code, status }, "the platform did not say whether a machine may join");
    const seconds = Math.min(Math.max(Math.ceil((retryAfterMs ?? 0) / 1000), RETRY_SECONDS), 900);
    const away = "the platform could not be asked; the token is not used up";
    return new Refusal(503, "PLATFORM_UNAVAILABLE", "platform", away, seconds);
  }

  async #create(pool: MachinePool, ask: Ask, tokenId: string, signal: AbortSignal): Promise<MachineJoin> {
    const { client, namespace, metrics, log } = this.#options;
    const name = `${pool.metadata.name}-${ask.publicKey.slice(0, 12)}`;
    const { group, version, kind } = machineJoins;
    this.#requireRoom(pool, name);
    const made = {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name, namespace },
      spec: { pool: pool.metadata.name, ...ask, tokenId },
    };
    try {
      const join = await client.create<MachineJoin>(machineJoins, made, signal);
      metrics.joined("accepted");
      log.info({ join: name, node: ask.nodeName, machineId: ask.machineId }, "a machine asks to join");
      return join;
    } catch (error) {
      if (!(error instanceof ApiError && error.isAlreadyExists)) throw refusalOfServer(error);
    }
    const stored = await client.get<MachineJoin>(machineJoins, { name, namespace }, signal).catch((error: unknown) => {
      throw refusalOfServer(error);
    });
    if (stored === undefined) throw new Refusal(503, "TRY_AGAIN", "api-server", "the join is just being deleted", 1);
    const { publicKey, nodeName, machineId } = stored.spec;
    if (publicKey !== ask.publicKey || nodeName !== ask.nodeName || machineId !== ask.machineId) {
      const words = `this key asked before as ${nodeName}; join with that name, or delete the key to make a new one`;
      throw new Refusal(409, "KEY_TAKEN", "taken", words);
    }
    metrics.joined("repeated");
    return stored;
  }
}

function noPool(): Refusal {
  const words = "no machine may join: the customer has no MachinePool for this deployment";
  return new Refusal(503, "NO_POOL", "no-pool", words, 60);
}

/** Aborts and mistakes pass as they are. */
export function refusalOfServer(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.isTransient) {
    return new Refusal(503, "API_SERVER_UNAVAILABLE", "api-server", "the API server could not be asked", RETRY_SECONDS);
  }
  const words = "the API server refused it; the log of the join server says why";
  return Object.assign(new Refusal(500, "NOT_STORED", "api-server", words), { cause: error });
}
