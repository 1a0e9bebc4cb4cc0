import { html, type Page, page } from "../../kernel/web-page.ts";

export interface SignInChoices {
  /** Prefix of every path: see `Site`. */
  readonly prefix: string;
  /** Same-origin path to go to after the sign-in. */
  readonly returnTo: string;
  /** The outside provider's name, when one is configured. */
  readonly outside: string | undefined;
  readonly devLogin: boolean;
  /** The program that the user is about to sign in to, if one has asked. */
  readonly client: string | undefined;
}

export function signInPage({ prefix, returnTo, outside, devLogin, client }: SignInChoices): Page {
  const button =
    outside === undefined
      ? undefined
      : html`<a class="button" href="${prefix}/auth/login?returnTo=${encodeURIComponent(returnTo)}">Sign in with ${outside}</a>`;
  const form = devLogin
    ? html`<form method="post" action="${prefix}/auth/dev-login">
<input type="hidden" name="returnTo" value="${returnTo}">
<label for="email">Email address</label>
<input id="email" name="email" type="email" autocomplete="email" required maxlength="254">
<label for="name">Name (optional)</label>
<input id="name" name="name" autocomplete="name" maxlength="100">
<button>Sign in for development</button>
<p class="note">Every visitor of this page can sign in as any user: this platform runs with AUTH_DEV_LOGIN.</p>
</form>`
    : undefined;
  const none =
    button === undefined && form === undefined
      ? html`<p class="note">No way to sign in is configured. Ask its administrator, or use an API key.</p>`
      : undefined;
  const why = client === undefined ? undefined : html`<p>to go on to <span class="who">${client}</span></p>`;
  return page("Sign in", html`${why}${button}${form}${none}`);
}

export interface Consent {
  readonly prefix: string;
  readonly client: string;
  readonly user: { readonly id: string; readonly email: string };
  readonly action: string;
  /** The program asked for a refresh token. */
  readonly stays: boolean;
}

export function consentPage({ prefix, client, user, action, stays }: Consent): Page {
  return page(
    `Let ${client} in?`,
    html`<p>A program on this computer that calls itself <span class="who">${client}</span> wants to act for you,
<span class="who">${user.email}</span>, with all your rights${stays ? ", until you sign it out" : " for 15 minutes"}.</p>
<p class="note">Go on only if you have just started it yourself.</p>
<form method="post" action="${action}">
<input type="hidden" name="user" value="${user.id}">
<button name="decision" value="allow">Let it in</button>
<button class="second" name="decision" value="deny">Refuse</button>
</form>
<form method="post" action="${prefix}/auth/logout">
<input type="hidden" name="returnTo" value="${action}">
<button class="second">Use another account</button>
</form>`,
  );
}

export function signedInPage(prefix: string, user: { readonly email: string }): Page {
  return page(
    "You are signed in",
    html`<p>as <span class="who">${user.email}</span></p>
<form method="post" action="${prefix}/auth/logout"><button class="second">Sign out</button></form>`,
  );
}

/**
 * Continues to the client automatically after a form. Not a redirect: browsers apply `form-action` to a form's
 * redirects too, and the client's address is not in it.
 */
export function onwardPage(url: string): Page {
  return page("One moment", html`<p><a class="button" href="${url}">Go on</a></p>`, {
    headers: { refresh: `0; url=${url}` },
  });
}

export function errorPage(prefix: string, title: string, text: string): Page {
  return page(title, html`<p>${text}</p><p><a href="${prefix}/auth/sign-in">To the sign-in page</a></p>`);
}
