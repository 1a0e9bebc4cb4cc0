import { type KeyObject, sign } from "node:crypto";
import Type, { type Static, type TSchema } from "typebox";
import { Check } from "typebox/schema";
import type { Clock } from "../../base/clock.ts";
import type { GitRepository } from "../../contract/projects/git-namespaces.ts";
import { PlatformError } from "../kernel/errors.ts";
import type { GitHost } from "../ports/git-host.ts";

/**
 * An app registered at GitHub, or at a GitHub Enterprise server, and installed by the accounts that grant it access.
 */
export interface GitHubAppConfig {
  readonly appId: string;
  readonly key: KeyObject;
  /** Without a trailing slash. */
  readonly apiUrl: string;
}

const Account = Type.Object({ login: Type.String(), id: Type.Integer(), type: Type.String() });
const Installation = Type.Object({
  id: Type.Integer(),
  account: Type.Union([Account, Type.Null()]),
  suspended_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
type Installation = Static<typeof Installation> & { readonly account: Static<typeof Account> };
const Token = Type.Object({ token: Type.String() });
const Found = Type.Object({ items: Type.Array(Account) });
const Profile = Type.Object({ email: Type.Union([Type.String(), Type.Null()]) });
const Repositories = Type.Object({
  repositories: Type.Array(
    Type.Object({
      name: Type.String(),
      private: Type.Boolean(),
      default_branch: Type.String(),
      pushed_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    }),
  ),
});

const PAGE = 100;
/** Pages read of one list: items after the first thousand are not shown. */
const MAX_PAGES = 10;
/** Limit of one call, for all its requests together. */
const CALL_MS = 20_000;
const REQUEST_MS = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** Addresses that may stand in a search query: other characters could change the query's meaning. */
const PLAIN_ADDRESS = /^[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,190}$/;

/**
 * Lists the repositories that a user may choose from. Many accounts have installed the app, so each user sees only the
 * own account and the teams that GitHub confirms. The own account is the one whose public profile shows the user's
 * verified address.
 */
export class GitHubApp implements GitHost {
  readonly #config: GitHubAppConfig;
  readonly #clock: Pick<Clock, "wallNow">;

  constructor(config: GitHubAppConfig, clock: Pick<Clock, "wallNow">) {
    this.#config = config;
    this.#clock = clock;
  }

  async namespaces(email: string, signal: AbortSignal) {
    const ends = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
    const installations = await this.#installations(ends);
    const [first] = installations;
    if (first === undefined || !PLAIN_ADDRESS.test(email)) return [];
    const login = await this.#loginOf(email, await this.#token(first.id, ends), ends);
    if (login === undefined) return [];
    const own: Installation[] = [];
    for (const installation of installations) {
      if (await this.#isOf(installation, login, ends)) own.push(installation);
    }
    return own.map(({ id, account }) => ({
      id: account.id,
      name: account.login,
      slug: account.login,
      installationId: id,
      type: account.type === "User" ? ("user" as const) : ("team" as const),
    }));
  }

  async repositories(
    { installationId }: { readonly slug: string; readonly installationId: number | null },
    search: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly GitRepository[]> {
    if (installationId === null) return [];
    const ends = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
    const token = await this.#token(installationId, ends);
    const all = await pages(async (page) => {
      const path = `/installation/repositories?per_page=${PAGE}&page=${page}`;
      return (await this.#read("GET", path, token, ends, Repositories)).repositories;
    });
    const wanted = search?.toLowerCase() ?? "";
    return all
      .filter(({ name }) => name.toLowerCase().includes(wanted))
      .map(({ name, private: hidden, default_branch: defaultBranch, pushed_at: pushed }) => ({
        ...{ name, private: hidden, defaultBranch },
        ...(pushed != null && !Number.isNaN(Date.parse(pushed)) && { pushedAt: new Date(pushed).toISOString() }),
      }));
  }

  async #installations(signal: AbortSignal): Promise<readonly Installation[]> {
    const all = await pages((page) =>
      this.#read(
        "GET",
        `/app/installations?per_page=${PAGE}&page=${page}`,
        this.#jwt(),
        signal,
        Type.Array(Installation),
      ),
    );
    return all.filter((each): each is Installation => each.account !== null && each.suspended_at == null);
  }

  /** Undefined unless exactly one account shows exactly this address: the search also finds similar ones. */
  async #loginOf(email: string, token: string, signal: AbortSignal): Promise<string | undefined> {
    const query = encodeURIComponent(`${email} in:email type:user`);
    const { items } = await this.#read("GET", `/search/users?q=${query}&per_page=5`, token, signal, Found);
    for (const { login } of items) {
      const profile = await this.#read("GET", `/users/${encodeURIComponent(login)}`, token, signal, Profile);
      if (profile.email?.toLowerCase() === email.toLowerCase()) return login;
    }
    return undefined;
  }

  async #isOf({ id, account }: Installation, login: string, signal: AbortSignal): Promise<boolean> {
    if (account.type === "User") return account.login.toLowerCase() === login.toLowerCase();
    const path = `/orgs/${encodeURIComponent(account.login)}/members/${encodeURIComponent(login)}`;
    const { status } = await this.#ask("GET", path, await this.#token(id, signal), signal);
    if (status === 204) return true;
    // 302: the app may not read the members.
    if (status === 404 || status === 302 || status === 403) return false;
    throw refused(status);
  }

  async #token(installation: number, signal: AbortSignal): Promise<string> {
    const path = `/app/installations/${installation}/access_tokens`;
    return (await this.#read("POST", path, this.#jwt(), signal, Token)).token;
  }

  /** Proves the app's identity for at most ten minutes. It begins one minute in the past, because clocks differ. */
  #jwt(): string {
    const now = Math.floor(this.#clock.wallNow().getTime() / 1000);
    const claims = { iat: now - 60, exp: now + 540, iss: this.#config.appId };
    const text = [{ alg: "RS256", typ: "JWT" }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".");
    return `${text}.${sign("RSA-SHA256", Buffer.from(text), this.#config.key).toString("base64url")}`;
  }

  async #read<S extends TSchema>(
    method: "GET" | "POST",
    path: string,
    token: string,
    signal: AbortSignal,
    schema: S,
  ): Promise<Static<S>> {
    const { status, body } = await this.#ask(method, path, token, signal);
    if (status !== 200 && status !== 201) throw refused(status);
    if (!Check(schema, body)) throw unavailable("the git host answered something else than its API describes");
    return body as Static<S>;
  }

  async #ask(method: "GET" | "POST", path: string, token: string, signal: AbortSignal) {
    const headers = {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "user-agent": "sallyport-platform",
      "x-github-api-version": "2022-11-28",
    };
    try {
      const ends = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]);
      // Redirects are refused: they would send the token to another server.
      const options = { method, headers, signal: ends, redirect: "manual" } as const;
      const answer = await fetch(`${this.#config.apiUrl}${path}`, options);
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of answer.body ?? []) {
        size += chunk.length;
        if (size > MAX_BYTES) throw new Error("too large");
        chunks.push(chunk);
      }
      const text = Buffer.concat(chunks).toString();
      return { status: answer.status, body: text === "" ? undefined : (JSON.parse(text) as unknown) };
    } catch (error) {
      throw unavailable("the git host did not answer as it should", error);
    }
  }
}

async function pages<T>(read: (page: number) => Promise<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const items = await read(page);
    all.push(...items);
    if (items.length < PAGE) break;
  }
  return all;
}

function unavailable(message: string, cause?: unknown): PlatformError {
  return new PlatformError("SERVICE_UNAVAILABLE", { message, cause });
}

function refused(status: number): PlatformError {
  const why =
    status === 401 ? ": its app id or key is wrong" : status === 429 || status === 403 ? ": too many requests" : "";
  return unavailable(`the git host answered ${status}${why}`);
}
