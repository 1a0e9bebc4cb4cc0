import type { FastifyInstance } from "fastify";
import type { Logger } from "../../base/log.ts";
import type { OpenDeps } from "../kernel/call/open-route.ts";
import type { IdentityConfig } from "./config.ts";
import { registerConsent } from "./oauth/consent.ts";
import { OAuthServer } from "./oauth/server.ts";
import { Browser } from "./users/browser.ts";
import { OutsideProvider } from "./users/outside-provider.ts";
import { CALLBACK_PATH, registerSignIn } from "./users/sign-in.ts";

/** Registers all routes of §25 that are not in the contract's table. */
export function registerIdentity(app: FastifyInstance, open: OpenDeps, config: IdentityConfig, log: Logger): void {
  const { engine } = open;
  const browser = new Browser(engine);
  const callback = (): string => engine.config.baseUrl + CALLBACK_PATH;
  const outside = config.outside && new OutsideProvider(config.outside, callback);
  const signIn = { browser, outside, devLogin: config.devLogin, log };
  const { db, clock } = engine;
  const oauth = new OAuthServer({ db, clock, config: engine.config, clients: config.clients, log });
  oauth.register(app, open);
  registerConsent(app, open, oauth, signIn);
  registerSignIn(app, open, signIn);
}
