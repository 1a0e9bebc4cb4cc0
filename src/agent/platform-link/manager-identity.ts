import type { Platform } from "./routes.ts";

const ID = /^mgr_[0-9a-z]{28}$/;

/** The runtime key is of another kind than this process needs: only who mounts the key can mend it. */
export class WrongKeyError extends Error {
  override readonly name = "WrongKeyError";
}

/** Which manager this agent is: what its key says, asked once. */
export class ManagerIdentity {
  readonly #whoami: Pick<Platform["whoami"], "get">;
  #id: string | undefined;

  constructor(whoami: Pick<Platform["whoami"], "get">) {
    this.#whoami = whoami;
  }

  /** @throws ApiError while the platform is away; WrongKeyError. */
  async resolve(signal: AbortSignal): Promise<string> {
    if (this.#id !== undefined) return this.#id;
    const principal = await this.#whoami.get({}, signal);
    const id =
      principal.kind === "serviceAccount" && principal.scope.type === "manager" ? principal.scope.managerId : "";
    if (!ID.test(id)) throw new WrongKeyError("the runtime key is not a manager's: mint one with role manager.runtime");
    this.#id = id;
    return id;
  }
}
