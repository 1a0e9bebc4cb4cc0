// `node scripts/page-pictures.ts`: opens the pages of a platform in Debian's Chromium and takes the pictures of
// docs/platform.md and docs/sign-in.md. Needs chromium and fonts-liberation, as test/browser does.

import { join } from "node:path";
import type { BrowserContext } from "playwright-core";
import { PORTAL_COLOURS, PORTAL_PRESETS } from "../src/contract/projects/portal-appearance.ts";
import { CLI_CLIENT } from "../src/platform/identity/oauth/client.ts";
import { begin } from "../src/platform/identity/testing/flow.ts";
import { OutsideProviderUnderTest } from "../src/platform/identity/testing/outside.ts";
import { startPlatform } from "../src/platform/server.ts";
import { chromiumProblem, startChromium } from "../test/browser/chromium.ts";

const OUT = join(import.meta.dirname, "../docs/images");
const CLIENT = { id: "sallyport", secret: "t".repeat(40) };
const WORDS = {
  title: "The shop, in your cluster",
  subtitle: "Two steps, about ten minutes",
  docsUrl: "https://docs.example.com",
};
const problem = chromiumProblem();
if (problem !== undefined) throw new Error(problem);

await using stack = new AsyncDisposableStack();
const outside = await OutsideProviderUnderTest.start();
stack.defer(() => outside.close());
const platform = await startPlatform({
  database: { pglite: "memory" },
  rateLimits: false,
  baseUrl: "http://127.0.0.1:48080",
  port: 48_080,
  identity: {
    outside: { issuer: outside.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, name: "Example Org" },
    devLogin: false,
    clients: [CLI_CLIENT],
  },
});
stack.defer(() => platform.close());
outside.serve({ ...CLIENT, redirectUri: `${platform.url}/auth/callback`, claimsInIdToken: true });
outside.person = { sub: "ada", email: "ada@example.com", email_verified: true, name: "Ada Lovelace" };
const chromium = await startChromium();
stack.defer(() => chromium.close());
const context = await chromium.newContext({ colorScheme: "light" });

await picture(context, "sign-in.png", `${platform.url}/auth/sign-in`, { width: 480, height: 300 });
const person = await chromium.newContext({ colorScheme: "light" });
await (await person.newPage()).goto(`${platform.url}/auth/login`);
const { url } = await begin({ platform });
await picture(person, "consent.png", url.href, { width: 480, height: 520 });
const link = await deploymentLink();
await picture(context, "deployment-link.png", link.url, { width: 760, height: 1_300 });
for (const [index, preset] of PORTAL_PRESETS.entries()) {
  await link.look({ preset, accentColor: PORTAL_COLOURS[index] });
  await picture(context, `portal-${preset}.png`, link.url, { width: 600, height: 500 });
}
await link.look({ accentColor: "green", density: "compact" });
const night = await chromium.newContext({ colorScheme: "dark" });
await picture(night, "portal-dark.png", link.url, { width: 600, height: 500 });

interface Size {
  readonly width: number;
  readonly height: number;
}

async function picture(of: BrowserContext, file: string, address: string, size: Size): Promise<void> {
  const page = await of.newPage();
  await page.setViewportSize(size);
  await page.goto(address);
  await page.getByRole("heading", { level: 1 }).waitFor();
  if (new URL(page.url()).pathname === "/deploy") {
    await page.getByRole("button", { name: "Open" }).click();
    await page.waitForURL((at) => at.pathname !== "/deploy");
  }
  await page.screenshot({ path: join(OUT, file) });
  await page.close();
}

/** Of a deployment that is being set up, with a chart that is built. */
async function deploymentLink(): Promise<{ readonly url: string; readonly look: (chosen: object) => Promise<void> }> {
  const { bootstrap } = platform;
  const { id: workspaceId } = await bootstrap.workspace("example-software");
  const { key } = await bootstrap.key({ workspaceId, role: "workspace.admin", scope: { type: "workspace" } });
  const manager = await bootstrap.manager({ workspaceId, name: "customer one", shared: true });
  const beat = { status: "healthy", url: "https://manager.example.com", managementConfigs: {} };
  await call("POST", `/v1/managers/${manager.id}/heartbeat`, beat, manager.key);
  const admin = (method: string, path: string, body: object) => call(method, path, body, key);
  const packagesConfig = { helm: { enabled: true, chartName: "shop", description: "The shop" } };
  await admin("POST", "/v1/projects", { name: "shop" });
  await admin("PATCH", "/v1/projects/shop", { packagesConfig });
  const web = { id: "web", type: "container", image: "registry.example.com/web:1.4.0" };
  const resources = { web: { config: web, dependencies: [], lifecycle: "live" } };
  const stack = { kubernetes: { id: "shop", resources } };
  await admin("POST", "/v1/releases", { project: "shop", stack });
  await admin("POST", "/v1/packages/rebuild", { project: "shop" });
  const { packages } = await admin("POST", "/v1/packages/lease", { builderId: "b", types: ["helm"] });
  const outputs = { type: "helm", chart: "oci://registry.example.com/shop", version: "1.4.0" };
  await admin("POST", `/v1/packages/${packages[0].id}/complete`, { builderId: "b", status: "ready", outputs });
  const group = await admin("POST", "/v1/deployment-groups", { name: "customer-one", project: "shop" });
  const policy = { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] };
  const deploymentSetupConfig = { metadata: {}, policy, environmentVariables: [] };
  const made = await admin("POST", `/v1/deployment-groups/${group.id}/tokens`, { deploymentSetupConfig });
  const body = { name: "shop-eu", platform: "kubernetes", setupMethod: "helm" };
  const { token } = await call("POST", "/v1/deployments", body, made.token);
  return {
    url: `${platform.url}/deploy#token=${token}`,
    look: (chosen) => admin("PATCH", "/v1/projects/shop", { deploymentPortalAppearance: { ...WORDS, ...chosen } }),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: each answer is of another form, and a wrong field shows in the picture.
async function call(method: string, path: string, body: object, key: string): Promise<any> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const answer = await fetch(new URL(path, platform.url), { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  return answer.json();
}
