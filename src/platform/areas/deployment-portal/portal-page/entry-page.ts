import { html, type Markup, type Page, page } from "../../../kernel/web-page.ts";
import { ENTRY_SCRIPT } from "./portal-scripts.ts";

/** Where a link leads first: the browser holds its token, and this page sends it once a person says so. */
export function entryPage(prefix: string): Page {
  return page(
    "Open a deployment link",
    html`<p>A deployment link shows what will be installed and the lines that install it. To open it does nothing in your cluster.</p>
<p id="held" hidden>You have opened the link <code id="key"></code>. Go on if you know who sent it to you: what its lines install comes from there.</p>
<p id="damaged" role="alert" hidden>The link that you have opened is damaged: it was cut short, or something was put into it. Copy all of it, as you got it, or ask who sent it for a new one.</p>
${form(prefix)}`,
    { script: ENTRY_SCRIPT },
  );
}

/** Says why a link does not open, and takes another one. It names nothing that the link belongs to. */
export function closedPage(prefix: string, title: string, why: string): Page {
  return page(title, html`<p>${why}</p>${form(prefix)}`);
}

function form(prefix: string): Markup {
  return html`<form method="post" action="${prefix}/deploy">
<div id="typed"><label for="token">The link, or the token at its end</label>
<input id="token" name="token" required maxlength="2560" autocomplete="off" autocapitalize="none" spellcheck="false"></div>
<button>Open</button>
</form>`;
}
