import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { InvitationPreview } from "../../../contract/workspaces/invitations.ts";
import { Browser, type SignedIn } from "../../identity/users/browser.ts";
import { errorPage } from "../../identity/users/pages.ts";
import { SIGN_IN_PATH } from "../../identity/users/sign-in.ts";
import { type OpenDeps, openRoute } from "../../kernel/call/open-route.ts";
import { inTransaction } from "../../kernel/call/transaction.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { html, type Page, page } from "../../kernel/web-page.ts";
import { accept, preview } from "./accept.ts";

const PATH = "/invite/{token}";
export const INVITE_ROUTES = [
  { method: "GET", path: PATH },
  { method: "POST", path: PATH },
] as const;
/** Longer than any token of the platform. */
const MAX_TOKEN = 128;

/** Serves the page behind an `inviteUrl` when there is no portal: it shows which workspace invites, and a button. */
export function registerInvitePage(app: FastifyInstance, open: OpenDeps): void {
  const browser = new Browser(open.engine);
  const { engine } = open;

  openRoute(app, open, "GET", PATH, (request, reply) =>
    forUser(browser, request, reply, async (user, token) => {
      const shown = await preview({ db: engine.db, now: engine.clock.wallNow() }, token);
      return invitationPage(browser.site.prefix, token, user, shown);
    }),
  );

  openRoute(app, open, "POST", PATH, (request, reply) =>
    forUser(browser, request, reply, async ({ id, email, name, image }, token) => {
      browser.checkOrigin(request, true);
      const person = { kind: "person", id, email, name, image } as const;
      const options = {
        readOnly: false,
        signal: new AbortController().signal,
        onRetry: () => engine.metrics.transactionRetried(),
      };
      const now = engine.clock.wallNow();
      const joined = await inTransaction(engine.db, options, (db) => accept({ db, now }, person, token));
      return page(
        `You are in ${joined.workspaceName}`,
        html`<p>as ${wordOf(joined.role)}. On the command line: <code>sallyport login --url ${engine.config.baseUrl}</code>, then
<code>--workspace ${joined.workspaceName}</code>.</p>`,
      );
    }),
  );
}

/** Makes the user sign in first, and explains why an invitation cannot be accepted. */
async function forUser(
  browser: Browser,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: (user: SignedIn, token: string) => Promise<Page>,
): Promise<FastifyReply> {
  const { prefix } = browser.site;
  const token = String((request.params as { readonly token?: unknown }).token).slice(0, MAX_TOKEN);
  const user = await browser.signedIn(request);
  if (user === undefined) {
    const returnTo = encodeURIComponent(pathOf(prefix, token));
    return browser.redirect(request, reply, `${prefix}${SIGN_IN_PATH}?returnTo=${returnTo}`, 303);
  }
  try {
    return browser.show(request, reply, 200, await answer(user, token));
  } catch (error) {
    const refused = error instanceof PlatformError ? REFUSALS[error.code] : undefined;
    if (!(error instanceof PlatformError) || refused === undefined) throw error;
    const shown =
      error.code === "INVITATION_EMAIL_MISMATCH"
        ? page("Not for this address", html`<p>${refused}</p>${anotherAccount(prefix, token, user)}`)
        : errorPage(prefix, "This invitation cannot be used", refused);
    return browser.show(request, reply, error.spec.status, shown);
  }
}

const REFUSALS: Readonly<Record<string, string>> = {
  NOT_FOUND: "There is no such invitation. Ask the person who sent it for a new one.",
  INVITATION_UNAVAILABLE: "It was accepted or revoked, or its time is over. Ask for a new one.",
  INVITATION_EMAIL_MISMATCH: "The invitation is for another address than the one that you are signed in with.",
};

const OVER: Readonly<Record<Exclude<InvitationPreview["state"], "active">, string>> = {
  accepted: "It has been accepted already.",
  expired: "Its time is over. Ask for a new one.",
  revoked: "It was revoked. Ask for a new one.",
};

function invitationPage(prefix: string, token: string, user: SignedIn, shown: InvitationPreview): Page {
  const { workspace, inviter, role, state, emailHint } = shown;
  if (state !== "active") return errorPage(prefix, "This invitation cannot be used", OVER[state]);
  const by = inviter === null ? html`You are invited` : html`<span class="who">${inviter.name}</span> invites you`;
  return page(
    `Join ${workspace.name}`,
    html`<p>${by} to the workspace <span class="who">${workspace.name}</span> as ${wordOf(role)}.</p>
${emailHint === null ? undefined : html`<p>The invitation is for ${emailHint}.</p>`}
<form method="post" action="${pathOf(prefix, token)}">
<button>Join as ${user.email}</button>
</form>
${anotherAccount(prefix, token, user)}`,
  );
}

function anotherAccount(prefix: string, token: string, { email }: SignedIn) {
  return html`<form method="post" action="${prefix}/auth/logout">
<input type="hidden" name="returnTo" value="${pathOf(prefix, token)}">
<button class="second">Not ${email}? Use another account</button>
</form>`;
}

function pathOf(prefix: string, token: string): string {
  return `${prefix}/invite/${encodeURIComponent(token)}`;
}

function wordOf(role: string): string {
  return role.replace("workspace.", "");
}
