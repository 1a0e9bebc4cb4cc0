import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { MACHINE_LOADS } from "../../crds/manifests/roles/machine-roles.ts";
import { lookRepeatedly } from "../../kube/access/repeated-look.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import type { Client } from "../../kube/client/client.ts";
import { resources } from "../../kube/objects/resource.ts";
import type { DrainPod } from "../drains/shapes.ts";
import { loadsOf, pagesOf } from "./loads.ts";

interface LoadPublisherOptions {
  readonly client: Pick<Client, "apply" | "delete" | "list">;
  readonly pods: Pick<Informer<DrainPod>, "store" | "whenSynced">;
  /** Of pools, joins and drains: where the agent reads. */
  readonly namespace: string;
  readonly fence: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Between two looks; a text that did not change is not written again. */
const EVERY_MS = 10_000;

/**
 * Writes what the pods of each node ask for into ConfigMaps `sallyport-machine-loads-<n>`. The agent reports machines from
 * these sums, so that it needs no right on the pods of all namespaces.
 */
export class LoadPublisher {
  readonly name = "machine loads";
  readonly #options: LoadPublisherOptions;
  /** What is stored, by page; undefined: not known yet. */
  #written: (string | undefined)[] | undefined;

  constructor(options: LoadPublisherOptions) {
    this.#options = options;
  }

  /** Until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { pods, clock, log } = this.#options;
    await pods.whenSynced(signal);
    const options = { clock, log, everyMs: EVERY_MS, failed: "the loads of nodes were not written" };
    await lookRepeatedly((each) => this.#publish(each), options, signal);
  }

  async #publish(signal: AbortSignal): Promise<void> {
    const { client, pods, namespace, fence } = this.#options;
    const pages = pagesOf(loadsOf(pods.store.values()));
    this.#written ??= await this.#stored(signal);
    for (const [index, loads] of pages.entries()) {
      if (this.#written[index] === loads) continue;
      fence();
      const metadata = { name: `${MACHINE_LOADS}-${index}`, namespace };
      const page = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { loads } };
      await client.apply(resources.configMaps, page, {}, signal);
      this.#written[index] = loads;
    }
    while (this.#written.length > pages.length) {
      fence();
      const name = `${MACHINE_LOADS}-${this.#written.length - 1}`;
      await client.delete(resources.configMaps, { name, namespace }, {}, signal);
      this.#written.pop();
    }
  }

  /** Pages of the leader before; their texts are not trusted. */
  async #stored(signal: AbortSignal): Promise<undefined[]> {
    const { client, namespace } = this.#options;
    let pages = 0;
    for await (const { metadata } of client.list(resources.configMaps, { namespace }, signal)) {
      const [, index] = new RegExp(`^${MACHINE_LOADS}-(\\d{1,4})$`).exec(metadata.name) ?? [];
      if (index !== undefined) pages = Math.max(pages, Number(index) + 1);
    }
    return Array.from({ length: pages }, () => undefined);
  }
}
