import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "../../../base/log.ts";
import { DevLogin, type DevLoginAnswer } from "../../../contract/openapi/auth-meta.ts";
import { setHeaders } from "../../kernel/call/answer.ts";
import { type OpenDeps, openRoute } from "../../kernel/call/open-route.ts";
import { invalid, PlatformError } from "../../kernel/errors.ts";
import { parseBody, refuseBody } from "../../kernel/input/body.ts";
import { Checker } from "../../kernel/input/syntax.ts";
import { type Browser, formOf } from "./browser.ts";
import { ArrivalError, type OutsideProvider } from "./outside-provider.ts";
import { errorPage, onwardPage, signedInPage, signInPage } from "./pages.ts";
import { returnPath } from "./return-to.ts";
import { cookieOf, SESSION_COOKIE, sessionOf } from "./session.ts";
import { openSignIn, SIGN_IN_COOKIE, SIGN_IN_MS, sealSignIn } from "./sign-in-cookie.ts";
import { endSession, findOrCreateUser } from "./store.ts";
import { userOfArrival } from "./users.ts";

export const SIGN_IN_PATH = "/auth/sign-in";
export const CALLBACK_PATH = "/auth/callback";

export interface SignInDeps {
  readonly browser: Browser;
  readonly outside: OutsideProvider | undefined;
  /** Lets any person sign in as any user: only on a developer's own machine. */
  readonly devLogin: boolean;
  readonly log: Logger;
}

/** Registers the routes with which browsers sign in and out. */
export function registerSignIn(app: FastifyInstance, open: OpenDeps, deps: SignInDeps): void {
  openRoute(app, open, "GET", SIGN_IN_PATH, (request, reply) => showSignIn(deps, request, reply));
  openRoute(app, open, "GET", "/auth/login", (request, reply) => login(open, deps, request, reply));
  openRoute(app, open, "GET", CALLBACK_PATH, (request, reply) => callback(open, deps, request, reply));
  openRoute(app, open, "POST", "/auth/dev-login", (request, reply) => devLogin(open, deps, request, reply));
  openRoute(app, open, "POST", "/auth/logout", (request, reply) => logout(open, deps, request, reply));
}

async function showSignIn({ browser, outside, devLogin }: SignInDeps, request: FastifyRequest, reply: FastifyReply) {
  const returnTo = returnToOf(request) ?? browser.site.prefix + SIGN_IN_PATH;
  const user = await browser.signedIn(request);
  if (user !== undefined) return browser.show(request, reply, 200, signedInPage(browser.site.prefix, user));
  const choices = { prefix: browser.site.prefix, returnTo, outside: outside?.name, devLogin, client: undefined };
  return browser.show(request, reply, 200, signInPage(choices));
}

/**
 * Redirects to the outside provider. Without one, redirects to the platform's sign-in page, which offers another way or
 * says that there is none.
 */
async function login({ engine }: OpenDeps, deps: SignInDeps, request: FastifyRequest, reply: FastifyReply) {
  const { browser, outside } = deps;
  const { prefix } = browser.site;
  const returnTo = returnToOf(request) ?? prefix + SIGN_IN_PATH;
  if (outside === undefined) {
    return browser.redirect(request, reply, `${prefix}${SIGN_IN_PATH}?returnTo=${encodeURIComponent(returnTo)}`);
  }
  const { url, departure } = await outside.depart();
  const sealed = sealSignIn(engine.config.sealingKey, { ...departure, returnTo }, engine.clock.wallNow());
  browser.setCookie(reply, SIGN_IN_COOKIE, sealed, { maxAgeMs: SIGN_IN_MS, path: prefix + CALLBACK_PATH });
  return browser.redirect(request, reply, url.href);
}

async function callback({ engine }: OpenDeps, deps: SignInDeps, request: FastifyRequest, reply: FastifyReply) {
  const { browser, outside, log } = deps;
  if (outside === undefined) throw new PlatformError("ROUTE_NOT_FOUND");
  const now = engine.clock.wallNow();
  const cookie = cookieOf(request.headers.cookie, SIGN_IN_COOKIE);
  const underWay = cookie === undefined ? undefined : openSignIn(engine.config.sealingKey, cookie, now);
  browser.clearCookie(reply, SIGN_IN_COOKIE, browser.site.prefix + CALLBACK_PATH);
  try {
    if (underWay === undefined) throw new ArrivalError("this sign-in was not begun in this browser, or took too long");
    const arrival = await outside.arrive(searchOf(request).toString(), underWay);
    const user = await userOfArrival(engine.db, arrival, now);
    await browser.signIn(reply, user.id);
    return browser.redirect(request, reply, underWay.returnTo);
  } catch (error) {
    if (!(error instanceof ArrivalError)) throw error;
    log.warn({ err: error, requestId: request.id }, "sign-in refused");
    return browser.show(
      request,
      reply,
      400,
      errorPage(browser.site.prefix, "You are not signed in", `${error.message}.`),
    );
  }
}

const devLoginBody = new Checker("body", DevLogin);

async function devLogin({ engine }: OpenDeps, deps: SignInDeps, request: FastifyRequest, reply: FastifyReply) {
  const { browser } = deps;
  if (!deps.devLogin || !browser.site.loopback) throw new PlatformError("ROUTE_NOT_FOUND");
  browser.checkOrigin(request, false);
  const form = formOf(request);
  const body = form === undefined ? jsonOf(request) : given({ email: form.get("email"), name: form.get("name") });
  const issues = body === undefined ? [{ path: "body", message: "is required" }] : devLoginBody.issues(body);
  if (issues.length > 0) throw invalid(...issues);
  const returnTo = pathOf("body.returnTo", form?.get("returnTo") ?? browser.site.prefix + SIGN_IN_PATH);
  const { id, email, name, image } = await findOrCreateUser(engine.db, body as DevLogin, engine.clock.wallNow());
  await browser.signIn(reply, id);
  if (form !== undefined) return browser.show(request, reply, 200, onwardPage(returnTo));
  const answer: DevLoginAnswer = { user: { id, email, name, image } };
  setHeaders(engine, request, reply, {});
  return reply.type("application/json; charset=utf-8").send(JSON.stringify(answer));
}

async function logout({ engine }: OpenDeps, { browser }: SignInDeps, request: FastifyRequest, reply: FastifyReply) {
  const form = formOf(request);
  if (form === undefined) refuseBody(jsonOf(request));
  const secret = sessionOf(request.headers);
  if (secret !== undefined) {
    browser.checkOrigin(request, true);
    await endSession(engine.db, secret);
  }
  browser.clearCookie(reply, SESSION_COOKIE, "/");
  if (form === undefined) {
    setHeaders(engine, request, reply, {});
    return reply.code(204).send();
  }
  const returnTo = pathOf("body.returnTo", form.get("returnTo") ?? browser.site.prefix + SIGN_IN_PATH);
  return browser.redirect(request, reply, returnTo, 303);
}

function jsonOf({ body, headers }: FastifyRequest): unknown {
  return parseBody(body instanceof Buffer ? body : undefined, headers["content-type"]);
}

/** Drops empty fields: a browser sends them too. */
function given(fields: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === null || value === "" ? [] : [[name, value]])),
  );
}

function searchOf({ url }: FastifyRequest): URLSearchParams {
  const at = url.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
}

/** @throws VALIDATION_ERROR when it is not a path of this platform. */
function returnToOf(request: FastifyRequest): string | undefined {
  const returnTo = searchOf(request).get("returnTo");
  return returnTo === null ? undefined : pathOf("query.returnTo", returnTo);
}

function pathOf(field: string, returnTo: string): string {
  const path = returnPath(returnTo);
  if (path === undefined) throw invalid({ path: field, message: "must be a path of this site" });
  return path;
}
