import { generateKeyPairSync, verify } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readPlatformConfig } from "../platform-config.ts";
import { GitHubApp } from "./github-app.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const NOW = new Date("2026-05-01T12:00:00Z");
const clock = { wallNow: () => NOW };
const signal = new AbortController().signal;
const account = (login: string, id: number, type = "Organization") => ({ login, id, type });

/** As GitHub's API is described; the real one cannot be reached from here. */
class FakeGitHub {
  installations: object[] = [];
  people: Record<string, string | null> = {};
  members: Record<string, readonly string[]> = {};
  repositories: object[] = [];
  readonly asked: string[] = [];
  #override: { status: number; body: string; hang?: boolean } | undefined;

  fails(status: number, body = "{}", hang = false): void {
    this.#override = { status, body, hang };
  }

  answer(request: IncomingMessage, response: ServerResponse): unknown {
    const url = new URL(request.url ?? "/", "http://x");
    this.asked.push(`${request.method} ${url.pathname}${url.search}`);
    const send = (status: number, body?: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    };
    if (this.#override !== undefined) {
      const { status, body, hang } = this.#override;
      if (hang === true) return undefined;
      response.writeHead(status).end(body);
      return undefined;
    }
    const [, token = ""] = (request.headers.authorization ?? "").split(" ");
    const ofApp = url.pathname.startsWith("/app/");
    if (ofApp ? !isApp(token) : !/^ghs_\d+$/.test(token)) return send(401, { message: "Bad credentials" });
    const page = Number(url.searchParams.get("page") ?? "1");
    const paged = (items: object[]) => items.slice((page - 1) * 100, page * 100);
    const installation = /^\/app\/installations\/(\d+)\/access_tokens$/.exec(url.pathname);
    if (url.pathname === "/app/installations") return send(200, paged(this.installations));
    if (installation !== null) return send(201, { token: `ghs_${installation[1]}` });
    if (url.pathname === "/search/users") {
      return send(200, { items: Object.keys(this.people).map((login, id) => account(login, id, "User")) });
    }
    const person = /^\/users\/(\w+)$/.exec(url.pathname)?.[1];
    if (person !== undefined) return send(200, { login: person, email: this.people[person] ?? null });
    const [, org = "", login = ""] = /^\/orgs\/(\w+)\/members\/(\w+)$/.exec(url.pathname) ?? [];
    if (org !== "") return send(this.members[org]?.includes(login) === true ? 204 : 404);
    if (url.pathname === "/installation/repositories") return send(200, { repositories: paged(this.repositories) });
    return send(404, { message: "Not Found" });
  }
}

function isApp(token: string): boolean {
  const [header = "", claims = "", signature = ""] = token.split(".");
  const said = JSON.parse(Buffer.from(claims, "base64url").toString());
  const seconds = NOW.getTime() / 1000;
  const fresh = said.iat <= seconds && said.exp > seconds && said.exp - said.iat <= 600 && said.iss === "42";
  const signed = Buffer.from(`${header}.${claims}`);
  return fresh && verify("RSA-SHA256", signed, publicKey, Buffer.from(signature, "base64url"));
}

describe("a GitHub app", () => {
  let server: Server;
  let github: FakeGitHub;
  let host: GitHubApp;

  beforeAll(async () => {
    server = createServer((request, response) => github.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  beforeEach(() => {
    github = new FakeGitHub();
    const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    host = new GitHubApp({ appId: "42", key: privateKey, apiUrl }, clock);
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it("shows a user the own account and the teams that it belongs to, and no other installation", async () => {
    github.installations = [
      { id: 11, account: account("ada", 1, "User"), suspended_at: null },
      { id: 12, account: account("acme", 2) },
      { id: 13, account: account("foreign", 3) },
      { id: 14, account: account("gone", 4), suspended_at: "2026-01-01T00:00:00Z" },
      { id: 15, account: account("bob", 5, "User") },
      { id: 16, account: null },
    ];
    github.people = { adalove: "ada@example.com.au", ada: "Ada@Example.com" };
    github.members = { acme: ["ada"], foreign: ["bob"], gone: ["ada"] };
    expect(await host.namespaces("ada@example.com", signal)).toEqual([
      { id: 1, name: "ada", slug: "ada", installationId: 11, type: "user" },
      { id: 2, name: "acme", slug: "acme", installationId: 12, type: "team" },
    ]);
  });

  it("shows nothing to a user whose address no account shows, or whose address is a query", async () => {
    github.installations = [{ id: 11, account: account("ada", 1, "User") }];
    github.people = { ada: null, other: "other@example.com" };
    expect(await host.namespaces("ada@example.com", signal)).toEqual([]);
    github.asked.length = 0;
    expect(await host.namespaces('"x" type:org @example.com', signal)).toEqual([]);
    expect(github.asked.filter((line) => line.includes("search"))).toEqual([]);
  });

  it("reads repositories page by page, a thousand at most, and finds by part of the name", async () => {
    const repository = (n: number) => ({
      ...{ name: `shop-${n}`, private: n % 2 === 0, default_branch: "main" },
      pushed_at: n === 0 ? null : "2026-04-01T00:00:00Z",
    });
    github.repositories = Array.from({ length: 1_500 }, (_, n) => repository(n));
    const all = await host.repositories({ slug: "acme", installationId: 12 }, undefined, signal);
    expect(all).toHaveLength(1_000);
    expect(all[0]).toEqual({ name: "shop-0", private: true, defaultBranch: "main" });
    expect(all[1]).toEqual({
      name: "shop-1",
      private: false,
      defaultBranch: "main",
      pushedAt: "2026-04-01T00:00:00.000Z",
    });
    const found = await host.repositories({ slug: "acme", installationId: 12 }, "SHOP-99", signal);
    expect(found.map(({ name }) => name).slice(0, 2)).toEqual(["shop-99", "shop-990"]);
    expect(await host.repositories({ slug: "acme", installationId: null }, undefined, signal)).toEqual([]);
  });

  it.each<[string, number, string]>([
    ["a refusal", 401, '{"message":"Bad credentials"}'],
    ["too many requests", 429, "{}"],
    ["a fault", 500, "{}"],
    ["another page than JSON", 200, "<html>"],
    ["JSON of another form", 200, '{"installations":5}'],
    ["more than it may send", 200, `["${"x".repeat(5_000_000)}"]`],
  ])("says that the git host failed on %s, and no secret", async (_, status, body) => {
    github.fails(status, body);
    const failure = await host.namespaces("ada@example.com", signal).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "SERVICE_UNAVAILABLE", message: expect.stringContaining("git host") });
    expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toMatch(/Bearer|ghs_|eyJ/);
  });

  it("is given up with the call that asked", async () => {
    github.fails(200, "", true);
    const ends = new AbortController();
    const failure = host.namespaces("ada@example.com", ends.signal).catch((error: unknown) => error);
    await expect.poll(() => github.asked.length).toBe(1);
    ends.abort();
    expect(await failure).toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });
});

describe("the settings of a GitHub app", () => {
  const pem = privateKey.export({ type: "pkcs1", format: "pem" }).toString();
  const ID = "SALLYPORT_PLATFORM_GITHUB_APP_ID";
  const KEY = "SALLYPORT_PLATFORM_GITHUB_APP_KEY";
  const URL = "SALLYPORT_PLATFORM_GITHUB_API_URL";

  it("are none, or an id and a key, with line breaks however written", () => {
    expect(readPlatformConfig({}).github).toBeUndefined();
    for (const key of [pem, pem.replaceAll("\n", "\\n")]) {
      const { github } = readPlatformConfig({ [ID]: "42", [KEY]: key });
      expect(github).toMatchObject({ appId: "42", apiUrl: "https://api.github.com" });
    }
    const own = { [ID]: "42", [KEY]: pem, [URL]: "https://git.example.com/api/v3/" };
    expect(readPlatformConfig(own).github?.apiUrl).toBe("https://git.example.com/api/v3");
  });

  it.each<[Record<string, string>, string]>([
    [{ [ID]: "42" }, KEY],
    [{ [KEY]: pem }, ID],
    [{ [ID]: "42", [KEY]: "not a key" }, KEY],
    [{ [ID]: "4 2", [KEY]: pem }, ID],
    [{ [ID]: "42", [KEY]: pem, [URL]: "http://git.example.com" }, URL],
  ])("say which is wrong: %#", (environment, named) => {
    expect(() => readPlatformConfig(environment)).toThrow(named);
    expect(() => readPlatformConfig(environment)).not.toThrow("PRIVATE KEY");
  });
});
