import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Browser } from "../../../identity/users/browser.ts";
import { setHeaders } from "../../../kernel/call/answer.ts";
import { type OpenDeps, openRoute } from "../../../kernel/call/open-route.ts";
import { html, type Page, page } from "../../../kernel/web-page.ts";
import { MODULE_VERSION, moduleArchive } from "./setup-module.ts";
import { setupTemplate } from "./setup-template.ts";

/** Files and pages of a manager's setup. They contain no secrets: the administrator enters the token by hand. */
export const SETUP_PATHS = {
  template: "/setup/manager.cloudformation.yaml",
  module: `/setup/manager-${MODULE_VERSION}.tar.gz`,
  google: "/setup/google",
} as const;

export const SETUP_ROUTES = Object.values(SETUP_PATHS).map((path) => ({ method: "GET", path }) as const);

export function registerSetup(app: FastifyInstance, open: OpenDeps): void {
  const { engine } = open;
  const archive = moduleArchive();
  const send = (request: FastifyRequest, reply: FastifyReply, type: string, content: string | Buffer): FastifyReply => {
    setHeaders(engine, request, reply, { "x-content-type-options": "nosniff", "cache-control": "public, max-age=300" });
    return reply.type(type).send(content);
  };
  openRoute(app, open, "GET", SETUP_PATHS.template, async (request, reply) =>
    send(request, reply, "application/yaml; charset=utf-8", setupTemplate(engine.config.baseUrl)),
  );
  openRoute(app, open, "GET", SETUP_PATHS.module, async (request, reply) =>
    send(request, reply, "application/gzip", await archive),
  );
  const browser = new Browser(engine);
  openRoute(app, open, "GET", SETUP_PATHS.google, async (request, reply) => {
    const { manager } = request.query as { readonly manager?: unknown };
    return browser.show(request, reply, 200, googlePage(browser.site.prefix, engine.config.baseUrl, manager));
  });
}

const MANAGER_ID = /^mgr_[0-9a-z]{28}$/;

/**
 * The page for Google Cloud: the platform is not an OAuth client of Google, so it cannot be granted access to a
 * project. Explains the other way.
 */
function googlePage(prefix: string, baseUrl: string, manager: unknown): Page {
  const id = typeof manager === "string" && MANAGER_ID.test(manager) ? manager : "<managerId>";
  return page(
    "Set a manager up on Google Cloud",
    html`<p>This platform is not registered with Google, so it cannot ask you for access to a project: nothing was begun,
and nothing is needed from Google here. The manager's setup token gives its runtime key:</p>
<p><code class="who">curl -X POST -H "Authorization: Bearer $SETUP_TOKEN" ${baseUrl}/v1/managers/${id}/bootstrap</code></p>
<p>Install the manager with the <code>apiKey</code> of the answer. A manager that is created with
<code>"setupMethod": "terraform"</code> comes with a Terraform module that does the same.</p>
<p><a href="${prefix}/docs">All that the API does</a></p>`,
  );
}
