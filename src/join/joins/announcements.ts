import { readFile } from "node:fs/promises";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { type MachinePool, machinePools } from "../../crds/kinds/machine-pool.ts";
import type { Client } from "../../kube/client/client.ts";
import type { JoinMetrics } from "../kernel/metrics.ts";
import type { Platform } from "../kernel/routes.ts";
import { actingPools } from "./pools.ts";

/** The platform makes no token for a server that it has not heard of for 180 s. */
const EVERY_MS = 60_000;
const RETRY_MS = 10_000;

export interface AnnouncementsOptions {
  readonly platform: Platform;
  readonly client: Pick<Client, "patch" | "rawGet">;
  readonly pools: () => Iterable<MachinePool>;
  readonly url: string;
  readonly caFile: string;
  /** The pins to say, the one of the key that is served first. */
  readonly pins: () => readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<JoinMetrics, "reported">;
}

/** Says where machines join: in each pool, where the customer can compare it, and to the platform, which puts it into join strings. */
export class Announcements {
  readonly #options: AnnouncementsOptions;
  #ca = "";
  #serverVersion = "";
  /** There is a pool that has not heard of the server: the pause before the next look ends. */
  wake: () => void = () => undefined;
  /** The authority is another than before. */
  onCa: (ca: string) => void = () => undefined;

  constructor(options: AnnouncementsOptions) {
    this.#options = options;
  }

  /** The authority of the API server's certificate; empty until {@link look} has read it. */
  get ca(): string {
    return this.#ca;
  }

  /** Such as v1.36.3; empty until the API server has said it. */
  get serverVersion(): string {
    return this.#serverVersion;
  }

  /** Says it until `signal` aborts: each minute, and when {@link wake} says that there is something new to say. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    let failing = false;
    while (!signal.aborted) {
      const woken = new AbortController();
      this.wake = () => woken.abort();
      try {
        await this.look(signal);
        failing = false;
      } catch (error) {
        if (signal.aborted) return;
        log[failing ? "debug" : "warn"](
          { err: error },
          "where machines join could not be said everywhere; tried again",
        );
        failing = true;
      }
      const pause = AbortSignal.any([signal, woken.signal]);
      await sleep(clock, failing ? RETRY_MS : EVERY_MS, pause).catch(() => undefined);
    }
  }

  /** @throws the first failure, after everything was tried. */
  async look(signal: AbortSignal): Promise<void> {
    await this.readCluster(signal);
    const pools = [...this.#options.pools()].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const said = await Promise.allSettled([
      ...pools.map((pool) => this.#sayInPool(pool, signal)),
      ...actingPools(pools).map((pool) => this.#report(pool, signal)),
    ]);
    signal.throwIfAborted();
    const failure = said.find(({ status }) => status === "rejected");
    if (failure?.status === "rejected") throw failure.reason;
  }

  async readCluster(signal: AbortSignal): Promise<void> {
    const { client, caFile } = this.#options;
    const ca = await readFile(caFile, "utf8");
    if (ca !== this.#ca) this.onCa(ca);
    this.#ca = ca;
    const answer: unknown = JSON.parse(await client.rawGet("/version", signal));
    if (typeof answer !== "object" || answer === null || !("gitVersion" in answer)) return;
    const { gitVersion } = answer;
    if (typeof gitVersion === "string" && /^v[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,50}$/.test(gitVersion)) {
      this.#serverVersion = gitVersion;
    }
  }

  async #sayInPool({ metadata: { name, namespace }, status }: MachinePool, signal: AbortSignal): Promise<void> {
    const { client, url, pins, clock } = this.#options;
    const known = status?.joinServer;
    const now = clock.wallNow();
    const isSaid = known?.url === url && known.pins.join() === pins().join();
    // Both replicas say it; the one that comes second within the minute writes nothing.
    if (isSaid && now.getTime() - new Date(known.at).getTime() < EVERY_MS) return;
    const at = now.toISOString().replace(/\.\d+Z$/, "Z");
    const body = { status: { joinServer: { url, pins: pins(), at } } };
    await client.patch(machinePools, { name, namespace }, { type: "merge", body }, { subresource: "status" }, signal);
  }

  async #report({ spec: { deploymentId } }: MachinePool, signal: AbortSignal): Promise<void> {
    const { platform, url, pins, metrics } = this.#options;
    const version = this.#serverVersion;
    const body = { url, pins: [...pins()], ...(version !== "" && { apiServerVersion: version }) };
    try {
      await platform.machines.joinServer({ params: { id: deploymentId }, body }, signal);
      metrics.reported(true);
    } catch (error) {
      if (!signal.aborted) metrics.reported(false);
      throw error;
    }
  }
}
