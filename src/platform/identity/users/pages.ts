import { createHash } from "node:crypto";

/** A page with its security headers. */
export interface Page {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Text that is safe to insert into HTML. */
class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Builds HTML and escapes every inserted value, unless the value is `Markup`. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Markup | undefined)[]): Markup {
  return new Markup(parts.reduce((text, part, i) => text + shown(values[i - 1]) + part));
}

function shown(value: string | Markup | undefined): string {
  if (value === undefined) return "";
  return value instanceof Markup ? value.text : value.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`);
}

const STYLE = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center;
  background: Canvas; color: CanvasText; }
main { width: min(24rem, 100vw - 2rem); padding: 1rem 0; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; }
.mark { margin: 0 0 .5rem; font-weight: 600; letter-spacing: .02em; }
label { display: block; margin: 1rem 0 .25rem; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .75rem; border: 1px solid GrayText;
  border-radius: .375rem; background: Field; color: FieldText; }
button, .button { font: inherit; display: block; width: 100%; box-sizing: border-box; text-align: center; margin: 1rem 0 0;
  padding: .625rem 1rem; border: 1px solid #1d4ed8; border-radius: .375rem; background: #1d4ed8; color: #fff;
  text-decoration: none; cursor: pointer; }
.second { background: transparent; color: inherit; border-color: GrayText; }
:focus-visible { outline: 3px solid #f59e0b; outline-offset: 2px; }
.note { border-left: 4px solid #f59e0b; padding: .25rem .75rem; margin: 1.5rem 0 0; }
.who { font-weight: 600; overflow-wrap: anywhere; }
`;

/** No scripts, one style sheet by its hash, forms only to this origin, and no other page may frame it. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  // Not `no-referrer`: browsers would then send the platform's own forms with `Origin: null`.
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
};

export function page(title: string, content: Markup, headers: Readonly<Record<string, string>> = {}): Page {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sallyport</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<main>
<p class="mark">Sallyport</p>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return { html: text, headers: { ...HEADERS, ...headers } };
}

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
  return page("One moment", html`<p><a class="button" href="${url}">Go on</a></p>`, { refresh: `0; url=${url}` });
}

export function errorPage(prefix: string, title: string, text: string): Page {
  return page(title, html`<p>${text}</p><p><a href="${prefix}/auth/sign-in">To the sign-in page</a></p>`);
}
