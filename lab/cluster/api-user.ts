import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { type ApiAnswer, type ApiCall, type ApiCredentials, apiRequest } from "./api-request.ts";
import { credentialsOf } from "./kubeconfig.ts";

/** The user of a kubeconfig that the lab has written, on connections that are kept: a request costs no TLS handshake. */
export class ApiUser implements Disposable {
  readonly #credentials: ApiCredentials;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(kubeconfig: string) {
    this.#credentials = credentialsOf(readFileSync(kubeconfig, "utf8"));
  }

  request(call: ApiCall, signal: AbortSignal = AbortSignal.timeout(60_000)): Promise<ApiAnswer> {
    return apiRequest(this.#credentials, call, signal, this.#agent);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
