import * as openid from "openid-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../server.ts";
import { call } from "../testing/harness.ts";
import { findPostgres, type TestPostgres } from "../testing/postgres.ts";
import { CLI_CLIENT } from "./oauth/client.ts";
import { identity, REDIRECT } from "./testing/flow.ts";
import { TestBrowser } from "./testing/test-browser.ts";

const postgres = findPostgres();

/** Behind one address, as a balancer shows them; each step goes to the other one. */
describe.skipIf(postgres === undefined)("signing in at two replicas", () => {
  const baseUrl = "http://127.0.0.1:9";
  let server: TestPostgres | undefined;
  let replicas: readonly RunningPlatform[] = [];
  let asked = 0;

  /** Sends what is meant for the balancer to one after the other. */
  const balanced: typeof fetch = (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin === baseUrl) {
      asked += 1;
      url.port = String(replicas[asked % 2]?.port);
    }
    return fetch(url, init);
  };

  beforeAll(async () => {
    server = await postgres?.();
    const database = { postgres: server?.url ?? "" };
    const options = { database, sealingKey: new Uint8Array(32), rateLimits: false, baseUrl, identity };
    replicas = await Promise.all([startPlatform(options), startPlatform(options)]);
  }, 120_000);
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.close()));
    await server?.stop();
  });

  it("begins at one and ends at the other, and a token of one is good and revoked at both", async () => {
    const configuration = await openid.discovery(new URL(baseUrl), CLI_CLIENT.id, undefined, openid.None(), {
      execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
      [openid.customFetch]: (url, init) => balanced(url, init as RequestInit),
    });
    const verifier = openid.randomPKCECodeVerifier();
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: REDIRECT,
      scope: "openid email offline_access",
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
    const browser = new TestBrowser((next) => next.origin === new URL(REDIRECT).origin, balanced);
    const consent = await browser.submit(await browser.get(url), { email: "two@example.com" }, "/auth/dev-login");
    const back = await browser.submit(consent, { decision: "allow" });
    const exchange = (): ReturnType<typeof openid.authorizationCodeGrant> =>
      openid.authorizationCodeGrant(configuration, new URL(back.url), { pkceCodeVerifier: verifier });
    const tokens = await exchange();
    const codes = async (): Promise<unknown[]> => {
      const ask = ({ url: one }: RunningPlatform) => call(one, "GET", "/v1/user/profile", { key: tokens.access_token });
      return (await Promise.all(replicas.map(ask))).map(({ status }) => status);
    };
    expect(await codes()).toEqual([200, 200]);
    await expect(exchange()).rejects.toMatchObject({ error: "invalid_grant" });
    expect(await codes()).toEqual([401, 401]);
  });

  it("make one key for id tokens between them", async () => {
    const keys = await replicas[0]?.db
      .selectFrom("signing_keys")
      .select("id")
      .where("purpose", "=", "id-token")
      .execute();
    expect(keys).toHaveLength(1);
  });
});
