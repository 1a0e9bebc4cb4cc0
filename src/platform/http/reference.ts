import { readFile } from "node:fs/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { openApi } from "../../contract/openapi/openapi.ts";
import { ROUTES } from "../../contract/table.ts";
import { RATES, type RateLimiter, tooManyRequests } from "../kernel/budgets/rate-limit.ts";
import { setHeaders } from "../kernel/call/answer.ts";
import type { Engine } from "../kernel/call/execute.ts";
import { trace } from "../kernel/call/trace.ts";
import { addressBucket } from "../kernel/caller-address.ts";

/**
 * The viewer's files by the name under which the platform serves them. Other files of that folder are not reachable.
 */
const FILES: Readonly<Record<string, { readonly type: string; readonly url: string }>> = {
  "swagger-ui.css": {
    type: "text/css; charset=utf-8",
    url: import.meta.resolve("@fastify/swagger-ui/static/swagger-ui.css"),
  },
  "swagger-ui-bundle.js": {
    type: "text/javascript; charset=utf-8",
    url: import.meta.resolve("@fastify/swagger-ui/static/swagger-ui-bundle.js"),
  },
  "favicon-32x32.png": {
    type: "image/png",
    url: import.meta.resolve("@fastify/swagger-ui/static/favicon-32x32.png"),
  },
};

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sallyport Management API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/readable.css">
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
</head>
<body>
<div id="reference"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/**
 * `defaultModelsExpandDepth` 0: the list of all schemas is closed until a reader opens it, because drawing it takes a
 * browser seconds. `syntaxHighlight` false: its colours are too faint. `validatorUrl` null: the viewer would otherwise
 * send the document's address to a server of its authors. The viewer gives some choices no name, or all of them the same one,
 * and a screen reader could not tell what they choose.
 */
const START = `SwaggerUIBundle({
  url: "v1/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  filter: true,
  tagsSorter: "alpha",
  validatorUrl: null,
  persistAuthorization: false,
  syntaxHighlight: false,
});
const NAMES = {
  "#servers": () => "Server",
  ".examples-select-element": () => "Example",
  ".operation-filter-input": () => "Filter by tag or path",
  ".expand-operation": (button) => "Operations of " + button.closest("[data-tag]").dataset.tag,
};
new MutationObserver(() => {
  for (const [which, nameOf] of Object.entries(NAMES)) {
    for (const each of document.querySelectorAll(which + ":not([aria-label])")) {
      each.setAttribute("aria-label", nameOf(each));
    }
  }
}).observe(document.getElementById("reference"), { childList: true, subtree: true });
`;

/**
 * What the viewer's own style lacks: 4.5 to 1 between text and background, and a mark on what has the focus, of which some parts
 * have their own, fainter one, and one is shown to a mouse alone.
 */
const READABLE = `
.swagger-ui .info .title small { background: #4b5563; }
.swagger-ui .info .title small.version-stamp { background: #3f6212; }
.swagger-ui .info .url, .swagger-ui a.nostyle .url { color: #1d4ed8; }
.swagger-ui .btn.authorize { color: #15633a; border-color: #15633a; }
.swagger-ui .btn.authorize svg { fill: #15633a; }
.swagger-ui .download-contents { background: #4b5563; }
.swagger-ui .btn.cancel { color: #a61b1b; border-color: #a61b1b; }
.swagger-ui .btn.execute { background: #1d4ed8; border-color: #1d4ed8; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1d4ed8; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #15633a; }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #7a4b00; }
.swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #0f5e59; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #a61b1b; }
.swagger-ui .parameter__name.required::after, .swagger-ui .parameter__name.required span { color: #a61b1b; }
.swagger-ui .parameter__in, .swagger-ui .prop-format, .swagger-ui .response-control-media-type__accept-message,
.swagger-ui .tab li, .swagger-ui .json-schema-2020-12__attribute { color: #4b5563; }
.swagger-ui .opblock .opblock-summary { flex-wrap: wrap; }
.swagger-ui .opblock, .swagger-ui .opblock-body, .swagger-ui .opblock-summary-path { max-width: 100%; overflow-x: auto; overflow-wrap: anywhere; }
.swagger-ui .filter .operation-filter-input { width: 100%; box-sizing: border-box; }
.swagger-ui :focus-visible, .swagger-ui .link:focus-visible,
.swagger-ui .opblock .opblock-summary-control:focus-visible { outline: 3px solid #b45309; outline-offset: 2px; }
.swagger-ui .opblock .opblock-summary .view-line-link.copy-to-clipboard:focus-within { width: 24px; margin: 0 5px; transition: none; }
`;

/**
 * Allows no other origin, and nothing inline but styles, which the viewer sets on its elements, and images in its
 * stylesheet. Requests go only to this origin. No other page may frame it.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

export interface ReferenceDeps {
  readonly engine: Engine;
  readonly limiter: RateLimiter | undefined;
}

/** Serves `/v1/openapi.json` and its viewer `/docs`: public, and from this package alone. */
export function registerReference(app: FastifyInstance, { engine, limiter }: ReferenceDeps): void {
  let document: { readonly baseUrl: string; readonly text: string } | undefined;
  app.get("/v1/openapi.json", (request, reply) => {
    const seen = trace(request, engine);
    seen.allowance = limiter?.take(addressBucket(request.ip), RATES.unauthenticated);
    if (seen.allowance?.allowed === false) {
      throw tooManyRequests("unauthenticated", seen.allowance);
    }
    const { baseUrl } = engine.config;
    if (document?.baseUrl !== baseUrl) document = { baseUrl, text: JSON.stringify(openApi(ROUTES, baseUrl)) };
    setHeaders(engine, request, reply, {});
    return reply.type("application/json; charset=utf-8").send(document.text);
  });
  const send = (request: FastifyRequest, reply: FastifyReply, type: string, content: string | Buffer): FastifyReply => {
    setHeaders(engine, request, reply, { ...HEADERS, "cache-control": "public, max-age=3600" });
    return reply.type(type).send(content);
  };
  app.get("/docs", (request, reply) => send(request, reply, "text/html; charset=utf-8", PAGE));
  // The page's relative links would not resolve from here.
  app.get("/docs/", (request, reply) => {
    setHeaders(engine, request, reply, { location: "../docs" });
    return reply.code(308).send();
  });
  app.get("/docs/readable.css", (request, reply) => send(request, reply, "text/css; charset=utf-8", READABLE));
  app.get("/docs/start.js", (request, reply) => send(request, reply, "text/javascript; charset=utf-8", START));
  for (const [name, { type, url }] of Object.entries(FILES)) {
    // Read on the first request: most platforms never serve it.
    let content: Promise<Buffer> | undefined;
    app.get(`/docs/${name}`, async (request, reply) => {
      content ??= readFile(new URL(url));
      return send(request, reply, type, await content);
    });
  }
}
