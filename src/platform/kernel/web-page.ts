import { createHash } from "node:crypto";
import { STYLE } from "./web-style.ts";

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

/** A link to another site, which learns nothing of this page, or for a mail. Text alone where the address is another. */
export function outsideLink(url: string, text: string): Markup {
  const isSafe = URL.canParse(url) && /^(https?|mailto):$/.test(new URL(url).protocol);
  return isSafe ? html`<a href="${new URL(url).href}" rel="noreferrer">${text}</a>` : html`${text}`;
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/**
 * One style sheet and at most one script by their hashes, images of at most one other host, forms and requests to this origin, and
 * no page may frame it.
 */
function policy(style: string, script: string | undefined, imageOrigin: string | undefined): string {
  return [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    ...(script === undefined ? [] : [`script-src ${hashOf(script)}`, "connect-src 'self'"]),
    // Else the browser asks for /favicon.ico, and its refusal is an error on the console.
    `img-src data:${imageOrigin === undefined ? "" : ` ${imageOrigin}`}`,
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
  /** Stands above the heading in place of the product's name. */
  readonly head?: Markup;
  /** Rules that come after the style of all pages; as the script, they hold nothing that a person typed. */
  readonly look?: string;
  /** The one other host that the page shows an image of, as `https://name`. */
  readonly imageOrigin?: string | undefined;
}

const SALLYPORT = html`<p class="mark">Sallyport</p>`;

/** The one layout of all pages that people open. */
export function page(title: string, content: Markup, options: PageOptions = {}): Page {
  const { headers = {}, script, wide, head = SALLYPORT, look = "", imageOrigin } = options;
  const style = STYLE + look;
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sallyport</title>
<link rel="icon" href="data:,">
<style>${new Markup(style)}</style>
</head>
<body>
<main${wide === true ? new Markup(' class="wide"') : undefined}>
${head}
<h1>${title}</h1>
${content}
</main>
${script === undefined ? undefined : new Markup(`<script>${script}</script>`)}
</body>
</html>
`;
  return {
    html: text,
    headers: {
      ...HEADERS,
      // The other host gets no cookies, where the browser knows this.
      ...(imageOrigin !== undefined && { "cross-origin-embedder-policy": "credentialless" }),
      "content-security-policy": policy(style, script, imageOrigin),
      ...headers,
    },
  };
}
