import type { Clock } from "../../base/clock.ts";
import { type DebugSession, type DebugSessionStatus, debugSessions } from "../../crds/kinds/debug-session.ts";
import type { Client } from "../../kube/client/client.ts";

export type TunnelStatus = NonNullable<DebugSessionStatus["tunnel"]>;

/** What the tunnel writes into a DebugSession: `status.tunnel`, and nothing else. */
export class StatusWriter {
  readonly #client: Pick<Client, "patch">;
  readonly #key: { readonly namespace: string; readonly name: string };

  constructor(client: Pick<Client, "patch">, namespace: string, { metadata }: DebugSession) {
    this.#client = client;
    this.#key = { namespace, name: metadata.name };
  }

  /** @throws ApiError 409 when another tunnel was faster. */
  async claim({ metadata }: DebugSession, tunnel: TunnelStatus, signal: AbortSignal): Promise<void> {
    await this.#patch({ metadata: { resourceVersion: metadata.resourceVersion }, status: { tunnel } }, signal);
  }

  async write(tunnel: TunnelStatus, signal: AbortSignal): Promise<void> {
    await this.#patch({ status: { tunnel } }, signal);
  }

  async #patch(body: object, signal: AbortSignal): Promise<void> {
    await this.#client.patch(debugSessions, this.#key, { type: "merge", body }, { subresource: "status" }, signal);
  }
}

export function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

/** The wall clock's time of a monotonic one. */
export function wallOf(clock: Clock, monotonicMs: number): string {
  return seconds(new Date(clock.wallNow().getTime() - (clock.monotonicMs() - monotonicMs)));
}
