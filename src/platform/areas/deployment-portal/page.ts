import type { FastifyInstance } from "fastify";
import { Browser } from "../../identity/users/browser.ts";
import { html, type Page, page } from "../../identity/users/pages.ts";
import { type OpenDeps, openRoute } from "../../kernel/call/open-route.ts";

/**
 * Serves the page behind a `deploymentLink` when the vendor has no portal: it explains the link and how to use it
 * without a portal. The token stays in the browser, because fragments are not sent.
 */
export function registerDeployPage(app: FastifyInstance, open: OpenDeps): void {
  const browser = new Browser(open.engine);
  openRoute(app, open, "GET", "/deploy", async (request, reply) =>
    browser.show(request, reply, 200, deployPage(browser.site.prefix, open.engine.config.baseUrl)),
  );
}

function deployPage(prefix: string, baseUrl: string): Page {
  return page(
    "A link to deploy",
    html`<p>What follows <code>#token=</code> in the address of this page is a key, made for the person who sets the deployment up: keep
it as you keep a password. There is no portal here that would use it for you; it works with the platform's API.</p>
<p>What is offered, and what it needs:</p>
<p><code class="who">curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/v1/deployment-info</code></p>
<p>The key of a manager's setup is exchanged for the manager's runtime key:</p>
<p><code class="who">curl -X POST -H "Authorization: Bearer $TOKEN" ${baseUrl}/v1/managers/$MANAGER_ID/bootstrap</code></p>
<p><a href="${prefix}/docs">All that the API does</a></p>`,
  );
}
