import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

/** What the outside provider says of the next person who signs in. */
export interface Person {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly picture?: string;
}

/** The platform, as the provider knows it. */
export interface OutsideClient {
  readonly id: string;
  readonly secret: string;
  readonly redirectUri: string;
  /** Else only at the userinfo endpoint. */
  readonly claimsInIdToken: boolean;
}

/** A real OpenID provider outside the platform, at which `person` is signed in already. */
export class OutsideProviderUnderTest {
  person: Person = { sub: "nobody" };
  readonly #server: Server;
  readonly issuer: string;

  private constructor(server: Server, issuer: string) {
    this.#server = server;
    this.issuer = issuer;
  }

  static async start(): Promise<OutsideProviderUnderTest> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new OutsideProviderUnderTest(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  /** Serves this client, and no longer the one before. */
  serve(client: OutsideClient): void {
    const provider = this.#build(client);
    this.#server.removeAllListeners("request");
    this.#server.on("request", (request, response) => {
      const [, uid] = /^\/interaction\/([\w-]+)$/.exec(request.url ?? "") ?? [];
      if (uid === undefined) return void provider.callback()(request, response);
      void this.#agree(provider, request, response);
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #build(client: OutsideClient): Provider {
    return new Provider(this.issuer, {
      clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [client.redirectUri] }],
      cookies: { keys: ["outside"] },
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "picture"] },
      conformIdTokenClaims: !client.claimsInIdToken,
      features: { devInteractions: { enabled: false } },
      pkce: { required: () => true },
      ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: async (_context, sub) => ({ accountId: sub, claims: async () => ({ ...this.person }) }),
    });
  }

  async #agree(provider: Provider, ...[request, response]: Parameters<Provider["interactionDetails"]>): Promise<void> {
    const { params } = await provider.interactionDetails(request, response);
    const grant = new provider.Grant({ accountId: this.person.sub, clientId: String(params.client_id) });
    grant.addOIDCScope(String(params.scope));
    const result = { login: { accountId: this.person.sub, remember: false }, consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result);
  }
}
