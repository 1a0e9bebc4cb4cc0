import type { FastifyInstance } from "fastify";
import { Browser } from "../../identity/browser.ts";
import { html, type Page, page } from "../../identity/pages.ts";
import { type OpenDeps, openRoute } from "../../kernel/call/open-route.ts";

/**
 * What a `deploymentLink` opens where no portal has a page of its own: what the link is, and how it is used without one.
 * Its token stays with the reader, as browsers send no fragment.
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
    html`<p>What follows <code>#token=</code> in the address of this page is a key, made for whoever sets the deployment up: keep
it as you keep a password. There is no portal here that would use it for you; it works with the platform's API.</p>
<p>What is offered, and what it needs:</p>
<p><code class="who">curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/v1/deployment-info</code></p>
<p>The key of a manager's setup is exchanged for the manager's runtime key:</p>
<p><code class="who">curl -X POST -H "Authorization: Bearer $TOKEN" ${baseUrl}/v1/managers/$MANAGER_ID/bootstrap</code></p>
<p><a href="${prefix}/docs">All that the API does</a></p>`,
  );
}
