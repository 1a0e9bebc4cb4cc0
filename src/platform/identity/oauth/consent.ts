import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { errors, type Interaction, type InteractionResults } from "oidc-provider";
import { isPlainLoopback } from "../../../base/loopback.ts";
import { type OpenDeps, openRoute } from "../../kernel/call/open-route.ts";
import { type Browser, formOf, type SignedIn } from "../users/browser.ts";
import { consentPage, errorPage, onwardPage, signInPage } from "../users/pages.ts";
import type { SignInDeps } from "../users/sign-in.ts";
import type { OAuthClient } from "./client.ts";
import { OAUTH_PATHS, SILENT } from "./provider.ts";
import type { OAuthServer } from "./server.ts";

const PATH = `${OAUTH_PATHS.interaction}/{uid}`;

/**
 * The pages between an authorisation request and its answer: sign-in, and consent for a program on the user's machine.
 */
export function registerConsent(app: FastifyInstance, open: OpenDeps, oauth: OAuthServer, signIn: SignInDeps): void {
  const { browser } = signIn;
  openRoute(app, open, "GET", PATH, async (request, reply) => {
    const asked = await askedBy(oauth, browser, request, reply);
    if (asked === undefined) return reply;
    const { interaction, client, path } = asked;
    const user = freshEnough(interaction, await browser.signedIn(request), open.engine.clock.wallNow());
    const { outside, devLogin } = signIn;
    const { prefix } = browser.site;
    if (interaction.params[SILENT] !== undefined) {
      const result = await withoutAsking(oauth, interaction, user);
      return browser.redirect(request, reply, await finish(oauth, request, reply, result), 303);
    }
    if (user !== undefined && !isHinted(interaction, user)) {
      return browser.redirect(request, reply, await finish(oauth, request, reply, ANOTHER_USER), 303);
    }
    if (user === undefined) {
      const choices = { prefix, returnTo: path, outside: outside?.name, devLogin, client: client.name };
      return browser.show(request, reply, 200, signInPage(choices));
    }
    if (!mustAsk(interaction)) {
      return browser.redirect(
        request,
        reply,
        await finish(oauth, request, reply, await allow(oauth, interaction, user)),
        303,
      );
    }
    const stays = scopesOf(interaction).includes("offline_access");
    return browser.show(request, reply, 200, consentPage({ prefix, client: client.name, user, action: path, stays }));
  });
  openRoute(app, open, "POST", PATH, async (request, reply) => {
    browser.checkOrigin(request, true);
    const asked = await askedBy(oauth, browser, request, reply);
    if (asked === undefined) return reply;
    const { interaction, path } = asked;
    const user = freshEnough(interaction, await browser.signedIn(request), open.engine.clock.wallNow());
    const form = formOf(request);
    // The user has signed out, or another user has signed in, since the page was shown: show it again.
    if (user === undefined || form?.get("user") !== user.id || !isHinted(interaction, user)) {
      return browser.redirect(request, reply, path, 303);
    }
    const denied = { error: "access_denied", error_description: "the user refused" };
    const result = form.get("decision") === "allow" ? await allow(oauth, interaction, user) : denied;
    return browser.show(request, reply, 200, onwardPage(await finish(oauth, request, reply, result)));
  });
}

interface Asked {
  readonly interaction: Interaction;
  readonly client: OAuthClient;
  /** Path of this page. */
  readonly path: string;
}

/**
 * The authorisation that the user is asked about. It must continue in the browser in which it began. Undefined when it
 * is over; the reply then says so.
 */
async function askedBy(
  oauth: OAuthServer,
  browser: Browser,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Asked | undefined> {
  const { prefix } = browser.site;
  try {
    const interaction = await (await oauth.provider()).interactionDetails(request.raw, reply.raw);
    const client = oauth.deps.clients.find(({ id }) => id === interaction.params.client_id);
    const { uid } = request.params as { readonly uid: string };
    if (interaction.uid !== uid || client === undefined) throw new errors.SessionNotFound("");
    return { interaction, client, path: `${prefix}${OAUTH_PATHS.interaction}/${uid}` };
  } catch (error) {
    if (!(error instanceof errors.SessionNotFound)) throw error;
    const text = "This sign-in is over, or was begun in another browser. Start it again from the program.";
    browser.show(request, reply, 400, errorPage(prefix, "The sign-in cannot go on", text));
    return undefined;
  }
}

/** The client hinted at one user but another one has signed in. Refuse: asking again would repeat for ever. */
const ANOTHER_USER = { error: "login_required", error_description: "another user than the hinted one has signed in" };

/**
 * The user, or undefined when a new sign-in is necessary: the client asks for one, the last one is longer ago than
 * `max_age`, or the client hints at another user and this one signed in before the request.
 */
function freshEnough(interaction: Interaction, user: SignedIn | undefined, now: Date): SignedIn | undefined {
  if (user === undefined) return undefined;
  const { prompt, params, iat = 0 } = interaction;
  const signedInSeconds = user.signed_in_at.getTime() / 1000;
  const asksAnew = prompt.reasons.includes("login_prompt") || !isHinted(interaction, user);
  if (asksAnew && signedInSeconds < iat) return undefined;
  const { max_age: maxAge } = params;
  const tooOld = maxAge !== undefined && signedInSeconds + Number(maxAge) < now.getTime() / 1000;
  return tooOld ? undefined : user;
}

/** Answers without a page: a code, or the OpenID Connect error that names the missing step. */
async function withoutAsking(
  oauth: OAuthServer,
  interaction: Interaction,
  user: SignedIn | undefined,
): Promise<InteractionResults> {
  if (user === undefined || !isHinted(interaction, user)) return { error: "login_required" };
  return mustAsk(interaction) ? { error: "consent_required" } : allow(oauth, interaction, user);
}

/** Whether the user is the one of the client's `id_token_hint`, if it sends one. The library has checked that token. */
function isHinted({ params }: Interaction, user: SignedIn): boolean {
  const { id_token_hint: hint } = params;
  if (hint === undefined) return true;
  const [, payload = ""] = String(hint).split(".");
  return JSON.parse(Buffer.from(payload, "base64url").toString("utf8")).sub === user.id;
}

/**
 * Every program on the user's machine can listen on a loopback address, so only the user can say which program asks.
 */
function mustAsk({ params }: Interaction): boolean {
  return isPlainLoopback(String(params.redirect_uri));
}

function scopesOf({ params }: Interaction): readonly string[] {
  return String(params.scope ?? "").split(" ");
}

async function allow(oauth: OAuthServer, interaction: Interaction, user: SignedIn): Promise<InteractionResults> {
  const provider = await oauth.provider();
  const grant = new provider.Grant({ accountId: user.id, clientId: String(interaction.params.client_id) });
  grant.addOIDCScope(scopesOf(interaction).join(" "));
  const ts = Math.floor(user.signed_in_at.getTime() / 1000);
  return { login: { accountId: user.id, remember: false, ts }, consent: { grantId: await grant.save() } };
}

/** @returns the address to which the browser continues. */
async function finish(
  oauth: OAuthServer,
  request: FastifyRequest,
  reply: FastifyReply,
  result: InteractionResults,
): Promise<string> {
  const provider = await oauth.provider();
  const options = { mergeWithLastSubmission: false };
  return provider.interactionResult(request.raw, reply.raw, result, options);
}
