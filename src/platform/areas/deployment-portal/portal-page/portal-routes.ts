import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { deploymentPortalRoutes } from "../../../../contract/deployment-portal/deployment-portal.ts";
import type { Db } from "../../../database/db.ts";
import { apiKeys } from "../../../identity/api-keys/authenticate.ts";
import { Browser, formOf } from "../../../identity/users/browser.ts";
import { cookieOf } from "../../../identity/users/session.ts";
import { RATES, tooManyRequests } from "../../../kernel/budgets/rate-limit.ts";
import type { Authenticator, Credential } from "../../../kernel/call/credential.ts";
import { type OpenDeps, openRoute } from "../../../kernel/call/open-route.ts";
import { trace } from "../../../kernel/call/trace.ts";
import { inTransaction } from "../../../kernel/call/transaction.ts";
import { PlatformError } from "../../../kernel/errors.ts";
import type { ServiceAccount } from "../../../kernel/tenancy/principal.ts";
import { deploymentInfo } from "../info.ts";
import { closedPage, entryPage } from "./entry-page.ts";
import { LINK_COOKIE, LINK_COOKIE_MS, type LinkToken, openLink, sealLink, typedToken } from "./link-cookie.ts";
import { listedFor, managerOf } from "./portal-reads.ts";
import { setupPage } from "./setup-page.ts";

const ENTRY = "/deploy";
const LINK = "/deploy/{keyId}";
const CLOSE = "/deploy/{keyId}/close";
export const PORTAL_ROUTES = [
  { method: "GET", path: ENTRY },
  { method: "POST", path: ENTRY },
  { method: "GET", path: LINK },
  { method: "POST", path: CLOSE },
] as const;

interface Deps extends OpenDeps {
  readonly browser: Browser;
  readonly authenticate: Authenticator;
}

/**
 * Serves the first page of a portal behind a `deploymentLink`. The link's token stands in the fragment, which browsers
 * do not send; the entry page sends it once in a form, when a person says so. From then on the browser keeps it sealed in a cookie for this
 * link alone, and the address has only the key's public id.
 */
export function registerPortalPage(app: FastifyInstance, open: OpenDeps): void {
  const deps = { ...open, browser: new Browser(open.engine), authenticate: apiKeys(open.engine.db) };
  const { browser } = deps;
  openRoute(app, open, "GET", ENTRY, async (request, reply) =>
    browser.show(request, reply, 200, entryPage(browser.site.prefix)),
  );
  openRoute(app, open, "POST", ENTRY, (request, reply) => enter(deps, request, reply));
  openRoute(app, open, "GET", LINK, (request, reply) => show(deps, request, reply));
  openRoute(app, open, "POST", CLOSE, async (request, reply) => {
    browser.checkOrigin(request, true);
    browser.clearCookie(reply, LINK_COOKIE, pathOf(browser, keyIdOf(request)));
    return browser.redirect(request, reply, `${browser.site.prefix}${ENTRY}`, 303);
  });
}

async function enter(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { browser, engine } = deps;
  browser.checkOrigin(request, true);
  const typed = typedToken(formOf(request)?.get("token") ?? "");
  return orClosed(deps, request, reply, async () => {
    if (typed === undefined) throw new PlatformError("API_KEY_INVALID");
    await holderOf(deps, request, typed);
    const path = pathOf(browser, typed.keyId);
    const sealed = sealLink(engine.config.sealingKey, typed.token, engine.clock.wallNow());
    browser.setCookie(reply, LINK_COOKIE, sealed, { maxAgeMs: LINK_COOKIE_MS, path });
    return browser.redirect(request, reply, path, 303);
  });
}

async function show(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { browser, engine } = deps;
  const { config } = engine;
  const now = engine.clock.wallNow();
  const keyId = keyIdOf(request);
  const cookie = cookieOf(request.headers.cookie, LINK_COOKIE);
  const token = cookie === undefined ? undefined : openLink(config.sealingKey, cookie, keyId, now);
  const { prefix } = browser.site;
  if (token === undefined) {
    const why = "This browser does not hold the link, or its time is over. Open the link again as you got it.";
    return browser.show(request, reply, 403, closedPage(prefix, "The link is not open here", why));
  }
  return orClosed(deps, request, reply, async () => {
    const principal = await holderOf(deps, request, { token, keyId });
    const options = {
      readOnly: true,
      signal: new AbortController().signal,
      onRetry: () => engine.metrics.transactionRetried(),
    };
    const read = async (db: Db) => {
      const call = { db, principal, config, workspaceId: principal.workspaceId, now };
      const [info, deployments] = [await deploymentInfo(call, {}), await listedFor(call)];
      return { info, deployments, manager: await managerOf(call) };
    };
    const shown = await inTransaction(engine.db, options, read);
    const terms = { token, keyId, prefix, baseUrl: config.baseUrl, tokenExpiresAt: principal.expiresAt };
    return browser.show(request, reply, 200, setupPage({ ...shown, ...terms }));
  });
}

/** @throws a 401 of the API for a key that is not valid; WRONG_TOKEN_KIND; RATE_LIMITED. */
async function holderOf(deps: Deps, request: FastifyRequest, { token }: LinkToken): Promise<ServiceAccount> {
  const { engine, authenticate } = deps;
  const headers = { authorization: `Bearer ${token}` };
  const credential = await authenticate({ method: "GET", headers }, engine.clock.wallNow());
  if (credential === undefined) throw new PlatformError("API_KEY_INVALID");
  pay(deps, credential);
  const principal = await credential.inWorkspace({ name: undefined, id: undefined, exempt: false });
  const roles: readonly string[] = deploymentPortalRoutes.info.roles as readonly string[];
  if (principal.kind !== "serviceAccount" || !roles.includes(principal.role)) {
    throw new PlatformError("WRONG_TOKEN_KIND");
  }
  trace(request, engine).principal = principal;
  return principal;
}

/** A page costs its key and its tenant what a call of the API costs them. @throws RATE_LIMITED. */
function pay({ limiter, engine }: Deps, { caller, rate, tenant }: Credential): void {
  const buckets = [{ id: caller, rate }, ...(tenant === undefined ? [] : [tenant])];
  for (const bucket of buckets) {
    const allowance = limiter?.take(bucket.id, RATES[bucket.rate]);
    if (allowance?.allowed !== false) continue;
    engine.metrics.rateLimited();
    throw tooManyRequests(bucket.rate, allowance);
  }
}

const ENDED = "The link has ended";
/** What the holder of a token learns when it does not open. Only the true token of an ended key learns that it ended. */
const CLOSED: Readonly<Record<string, { readonly status: number; readonly title: string; readonly why: string }>> = {
  API_KEY_INVALID: {
    status: 404,
    title: "There is no such link",
    why: "Was it cut short on its way? Copy all of it, up to its last character, or ask your vendor for a new one.",
  },
  API_KEY_EXPIRED: { status: 410, title: ENDED, why: "Its time is over. Ask your vendor for a new one." },
  API_KEY_REVOKED: {
    status: 410,
    title: ENDED,
    why: "It was taken back, or it was for a setup that is done: a manager's link ends when the manager is heard of.",
  },
  API_KEY_DISABLED: { status: 410, title: ENDED, why: "It is switched off. Ask your vendor." },
  WRONG_TOKEN_KIND: {
    status: 400,
    title: "This is no deployment link",
    why: "The key is for another purpose. Keep it secret; this page has no use for it.",
  },
  NOT_FOUND: { status: 410, title: ENDED, why: "What it was for is deleted. Ask your vendor." },
};

async function orClosed(
  { browser }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await answer();
  } catch (error) {
    const closed = error instanceof PlatformError ? CLOSED[error.code] : undefined;
    if (closed === undefined) throw error;
    return browser.show(request, reply, closed.status, closedPage(browser.site.prefix, closed.title, closed.why));
  }
}

const KEY_ID = /^[0-9a-z]{12}$/;

function keyIdOf(request: FastifyRequest): string {
  const { keyId } = request.params as { readonly keyId?: unknown };
  if (typeof keyId === "string" && KEY_ID.test(keyId)) return keyId;
  throw new PlatformError("ROUTE_NOT_FOUND");
}

function pathOf({ site }: Browser, keyId: string): string {
  return `${site.prefix}${ENTRY}/${keyId}`;
}
