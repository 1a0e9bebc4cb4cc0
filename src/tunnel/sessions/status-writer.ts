import { type DebugSession, type DebugSessionStatus, debugSessions } from "../../crds/kinds/debug-session.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";

export type TunnelStatus = NonNullable<DebugSessionStatus["tunnel"]>;

/** Another tunnel stands in the object: this one has no word on it any more. */
export class TakenOver extends Error {
  override readonly name = "TakenOver";
}

/** The API server's answer to a JSON patch whose `test` fails, and to an object that breaks a rule. */
const UNPROCESSABLE = 422;

/** What the tunnel writes into a DebugSession: `status.tunnel`, and nothing else. */
export class StatusWriter {
  readonly #client: Pick<Client, "patch" | "get">;
  readonly #key: { readonly namespace: string; readonly name: string };

  constructor(client: Pick<Client, "patch" | "get">, namespace: string, { metadata }: DebugSession) {
    this.#client = client;
    this.#key = { namespace, name: metadata.name };
  }

  /** @throws ApiError 409 when another tunnel was faster. */
  async claim({ metadata }: DebugSession, tunnel: TunnelStatus, signal: AbortSignal): Promise<void> {
    // What another tunnel has told of the audit stays; its client is not here.
    const body = {
      metadata: { resourceVersion: metadata.resourceVersion },
      status: { tunnel: { ...tunnel, attachedAt: null } },
    };
    await this.#client.patch(debugSessions, this.#key, { type: "merge", body }, { subresource: "status" }, signal);
  }

  /** @throws TakenOver, and writes nothing then; ApiError */
  async write(tunnel: TunnelStatus, signal: AbortSignal): Promise<void> {
    const body = [
      { op: "test", path: "/status/tunnel/instance", value: tunnel.instance },
      { op: "replace", path: "/status/tunnel", value: tunnel },
    ] as const;
    try {
      await this.#client.patch(debugSessions, this.#key, { type: "json", body }, { subresource: "status" }, signal);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === UNPROCESSABLE)) throw error;
      const stored = await this.#client.get<DebugSession>(debugSessions, this.#key, signal);
      if (stored !== undefined && stored.status?.tunnel?.instance !== tunnel.instance)
        throw new TakenOver("another tunnel has the session", { cause: error });
      throw error;
    }
  }
}

export function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}
