import { createHash } from "node:crypto";

/** A page with its security headers. */
export interface Page {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Text that is safe to insert into HTML. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Shown = string | Markup | undefined | readonly Markup[];

/** Builds HTML and escapes every inserted value, unless the value is `Markup`. */
export function html(parts: TemplateStringsArray, ...values: readonly Shown[]): Markup {
  return new Markup(parts.reduce((text, part, i) => text + shown(values[i - 1]) + part));
}

function shown(value: Shown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`);
  return value instanceof Markup ? value.text : value.map(({ text }) => text).join("\n");
}

/** A link to another site, which learns nothing of this page. Text alone where the address is not one of the web. */
export function outsideLink(url: string, text: string): Markup {
  const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  return isWeb ? html`<a href="${new URL(url).href}" rel="noreferrer">${text}</a>` : html`${text}`;
}

/** Colours are at least 4.5 to 1 on both backgrounds. */
const STYLE = `
:root { color-scheme: light dark; --link: #1d4ed8; --edge: #6b7280; --soft: #f3f4f6; --quiet: #4b5563; --good: #15633a;
  --bad: #a61b1b; --warn: #7a4b00; }
@media (prefers-color-scheme: dark) { :root { --link: #93b4ff; --edge: #9ca3af; --soft: #262a31; --quiet: #b6bcc8;
  --good: #7ddba3; --bad: #ff9d9d; --warn: #f5c46b; } }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center;
  background: Canvas; color: CanvasText; }
main { width: min(24rem, 100vw - 2rem); padding: 1rem 0; overflow-wrap: anywhere; }
.wide { width: min(46rem, 100vw - 2rem); align-self: start; }
a { color: var(--link); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.125rem; line-height: 1.25; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; line-height: 1.25; margin: 1.25rem 0 .25rem; }
.mark { margin: 0 0 .5rem; font-weight: 600; letter-spacing: .02em; }
label { display: block; margin: 1rem 0 .25rem; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .75rem; border: 1px solid var(--edge);
  border-radius: .375rem; background: Field; color: FieldText; }
button, .button { font: inherit; display: block; width: 100%; box-sizing: border-box; text-align: center; margin: 1rem 0 0;
  padding: .625rem 1rem; border: 1px solid #1d4ed8; border-radius: .375rem; background: #1d4ed8; color: #fff;
  text-decoration: none; cursor: pointer; }
.second, .small { background: transparent; color: inherit; border-color: var(--edge); }
.small { display: inline-block; width: auto; margin: .25rem 0 0; padding: .25rem .75rem; }
:focus-visible { outline: 3px solid #b45309; outline-offset: 2px; }
.note { border-left: 4px solid #b45309; padding: .25rem .75rem; margin: 1.5rem 0 0; }
.who { font-weight: 600; overflow-wrap: anywhere; }
pre { margin: .5rem 0 0; padding: .75rem; border: 1px solid var(--edge); border-radius: .375rem; background: var(--soft);
  font: .875rem/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; font-size: .9em; }
pre code { font-size: 1em; }
dl { display: grid; grid-template-columns: minmax(0, 9rem) minmax(0, 1fr); gap: .25rem 1rem; margin: 0; }
dt { color: var(--quiet); }
dd { margin: 0; }
ul, ol { margin: .5rem 0 0; padding-left: 1.25rem; }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.warn { color: var(--warn); font-weight: 600; }
.copy { display: none; }
.scripted .copy { display: inline-block; }
@media (max-width: 30rem) { dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dd { margin: 0 0 .5rem; } }
`;

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** One style sheet and at most one script by their hashes, forms and requests to this origin, and no page may frame it. */
function policy(script: string | undefined): string {
  return [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    ...(script === undefined ? [] : [`script-src ${hashOf(script)}`, "connect-src 'self'"]),
    // Else the browser asks for /favicon.ico, and its refusal is an error on the console.
    "img-src data:",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const HEADERS = {
  "x-content-type-options": "nosniff",
  // Not `no-referrer`: browsers would then send the platform's own forms with `Origin: null`.
  "referrer-policy": "same-origin",
  // Else a page of another site that opened this one could lead it elsewhere after a person has read it.
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

export interface PageOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** The page's one script, a constant of the platform's: what a person typed never comes into it. */
  readonly script?: string;
  readonly wide?: boolean;
}

/** The one layout of all pages that people open. */
export function page(title: string, content: Markup, { headers = {}, script, wide }: PageOptions = {}): Page {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sallyport</title>
<link rel="icon" href="data:,">
<style>${new Markup(STYLE)}</style>
</head>
<body>
<main${wide === true ? new Markup(' class="wide"') : undefined}>
<p class="mark">Sallyport</p>
<h1>${title}</h1>
${content}
</main>
${script === undefined ? undefined : new Markup(`<script>${script}</script>`)}
</body>
</html>
`;
  return { html: text, headers: { ...HEADERS, "content-security-policy": policy(script), ...headers } };
}
