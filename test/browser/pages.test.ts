import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { PORTAL_COLOURS, PORTAL_DENSITIES, PORTAL_PRESETS } from "../../src/contract/projects/portal-appearance.ts";
import { newSite, type Site } from "../../src/platform/areas/deployments/testing/site.ts";
import { newTeam } from "../../src/platform/areas/invitations/testing/team.ts";
import { newBuildSite } from "../../src/platform/areas/packages/testing/builds.ts";
import { release } from "../../src/platform/areas/releases/testing/releases.ts";
import { CLI_CLIENT } from "../../src/platform/identity/oauth/client.ts";
import { begin } from "../../src/platform/identity/testing/flow.ts";
import { OutsideProviderUnderTest } from "../../src/platform/identity/testing/outside.ts";
import { onEachDatabase } from "../../src/platform/testing/harness.ts";
import { chromiumProblem, startChromium } from "./chromium.ts";
import { Scene } from "./scene.ts";

// The pages that people open, in the browser that they open them with. All scenes share one Chromium.

const problem = chromiumProblem();
if (problem !== undefined) console.warn(`SKIPPED: test/browser, the pages in a real browser: ${problem}`);

const CLIENT = { id: "sallyport", secret: "t".repeat(40) };
const HOSTILE = `<img src=x onerror=alert(1)>"'><script>alert(2)</script>`;
/** One white point. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==",
  "base64",
);
const outside = await OutsideProviderUnderTest.start();
afterAll(() => outside.close());

describe.skipIf(problem !== undefined)("in a real browser", () => {
  onEachDatabase(
    "the pages",
    (world) => {
      let chromium: Browser;
      let program: Server;
      let callback = "";
      const open: Scene[] = [];

      beforeAll(async () => {
        chromium = await startChromium();
        // The program on the person's machine that asks for a sign-in.
        program = createServer((_request, response) => {
          const headers = { "content-type": "text/html" };
          response.writeHead(200, headers).end('<!doctype html><link rel="icon" href="data:,">Back in the program.');
        });
        await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve));
        callback = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`;
        const redirectUri = `${world.platform.url}/auth/callback`;
        outside.serve({ ...CLIENT, redirectUri, claimsInIdToken: true });
      });
      afterEach(async () => {
        const scenes = open.splice(0);
        const troubles = scenes.flatMap((each) => each.troubles);
        for (const scene of scenes) await scene.close();
        expect(troubles).toEqual([]);
      });
      afterAll(async () => {
        await chromium?.close();
        program?.closeAllConnections();
        program?.close();
      });

      async function scene(more: readonly string[] = [], scripts = true): Promise<Scene> {
        const made = await Scene.open(chromium, [world.platform.url, ...more], scripts);
        open.push(made);
        return made;
      }

      /** What every page has to be, whatever it shows. */
      async function isWell(at: Scene): Promise<void> {
        expect(await at.axe(), at.page.url()).toEqual([]);
        expect(await at.tooWideBy(), at.page.url()).toBeLessThanOrEqual(0);
      }

      /** The answer of a page that refuses is an error to Chromium's console: nothing else may be. */
      function expectRefused(at: Scene, status: number): void {
        const wanted = `the server responded with a status of ${status}`;
        expect(at.troubles.filter((each) => !each.includes(wanted))).toEqual([]);
        at.troubles.length = 0;
      }

      const person = (name: string) => {
        outside.person = { sub: name, email: `${name}@example.com`, email_verified: true, name };
      };

      async function signIn(at: Scene, name: string): Promise<void> {
        person(name);
        await at.page.goto(`${world.platform.url}/auth/sign-in`);
        await at.enterOn("Sign in with Example Org");
        await at.page.getByRole("heading", { name: "You are signed in" }).waitFor();
      }

      it("signs in at an outside provider and out again, with the keyboard alone", async () => {
        const at = await scene([outside.issuer]);
        await at.page.goto(`${world.platform.url}/auth/sign-in`);
        expect(await at.page.title()).toBe("Sign in · Sallyport");
        expect(await at.tabOrder()).toEqual([
          "Sign in with Example Org",
          "Email address",
          "Name (optional)",
          "Sign in for development",
        ]);
        await isWell(at);
        await signIn(at, "ada");
        expect(await at.page.textContent("main")).toContain("ada@example.com");
        expect(await at.page.evaluate("document.cookie")).toBe("");
        expect(await at.tabOrder()).toEqual(["Sign out"]);
        await isWell(at);
        await at.enterOn("Sign out");
        await at.page.getByRole("heading", { name: "Sign in" }).waitFor();
        expect(await at.context.cookies()).not.toContainEqual(expect.objectContaining({ name: "sp_session" }));
      });

      it("asks before a program on the machine is let in, and goes back to it", async () => {
        const at = await scene([outside.issuer, callback]);
        await signIn(at, "grace");
        const { url } = await begin(world, { redirect_uri: callback });
        await at.page.goto(url.href);
        await at.page.getByRole("heading", { name: /^Let .* in\?$/ }).waitFor();
        expect(await at.tabOrder()).toEqual(["Let it in", "Refuse", "Use another account"]);
        await isWell(at);
        await at.enterOn("Let it in");
        await at.page.waitForURL(`${callback}?**`);
        expect(new URL(at.page.url()).searchParams.get("code")).toBeTruthy();
        await at.page.goto((await begin(world, { redirect_uri: callback })).url.href);
        await at.enterOn("Refuse");
        await at.page.waitForURL(`${callback}?**`);
        expect(new URL(at.page.url()).searchParams.get("error")).toBe("access_denied");
      });

      it("takes an invitation from its link through the sign-in into the workspace", async () => {
        const team = await newTeam(world);
        await world.call("PATCH", "/v1/user/profile", { key: team.admin.token, body: { name: HOSTILE } });
        const invitation = (await team.invite("joan@example.com", "workspace.viewer")).body;
        const at = await scene([outside.issuer]);
        person("joan");
        await at.page.goto(invitation.inviteUrl);
        await at.enterOn("Sign in with Example Org");
        await at.page.getByRole("heading", { name: `Join ${team.workspace.name}` }).waitFor();
        expect(await at.page.textContent("main")).toContain(HOSTILE);
        expect(await at.tabOrder()).toEqual(["Join as joan@example.com", "Not joan@example.com? Use another account"]);
        await isWell(at);
        await at.enterOn("Join as joan@example.com");
        await at.page.getByRole("heading", { name: `You are in ${team.workspace.name}` }).waitFor();
        await isWell(at);
      });

      it("reads the API's description and calls it with the keyboard alone, with nothing from another host", async () => {
        const at = await scene([outside.issuer]);
        await signIn(at, "mary");
        await at.page.goto(`${world.platform.url}/docs`);
        await at.page.locator("#operations-tag-user").waitFor();
        expect(await at.page.title()).toBe("Sallyport Management API");
        expect(await at.tooWideBy()).toBeLessThanOrEqual(0);
        await at.typeInto("Filter by tag or path", "/user/profile");
        await at.page.locator("#operations-tag-workspaces").waitFor({ state: "detached" });
        await at.enterOn("Operations of user");
        await at.enterOn(/^GET\/v1\/user\/profileReads/);
        await at.enterOn("Try it out");
        await at.enterOn("Execute");
        await at.page.getByText('"mary@example.com"').first().waitFor();
        // What comes after the answer is reached too, and the address names the operation: it can be sent to a colleague.
        await at.enterOn("Clear");
        expect(at.page.url()).toContain("#/user/user.getProfile");
        // The viewer's own: a line that opens has a link to itself in it.
        const found = await at.axe(["light"]);
        expect(found.filter((each) => !each.startsWith("nested-interactive:"))).toEqual([]);
        expect(await at.tooWideBy()).toBeLessThanOrEqual(0);
      });

      describe("a deployment link", () => {
        const POLICY = { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] };

        async function linkOf(site: Site, more: object = {}) {
          const deploymentSetupConfig = { metadata: {}, policy: POLICY, environmentVariables: [] };
          const body = { deploymentSetupConfig, ...more };
          const answer = await site.call("POST", `/v1/deployment-groups/${site.group.id}/tokens`, { body });
          expect(answer.status, JSON.stringify(answer.body)).toBe(200);
          return answer.body as { readonly token: string; readonly deploymentLink: string };
        }

        /** As a person who got it in a mail: nothing is sent before the one key. */
        async function open(at: Scene, link: string): Promise<void> {
          await at.page.goto(link);
          await at.enterOn("Open");
        }

        it("sends nothing by itself: it says which link it is, without its key in the address, and waits for a person", async () => {
          const site = await newSite(world);
          await release(site);
          const { token, deploymentLink } = await linkOf(site);
          const at = await scene([callback]);
          // As another site can lead a browser to a link of its own.
          await at.page.goto(callback);
          await at.page.evaluate(`location.href = ${JSON.stringify(deploymentLink)}`);
          await at.page.getByText(`You have opened the link ${token.split("_")[2]}.`).waitFor();
          await at.page.waitForLoadState("networkidle");
          expect(at.page.url()).toBe(`${world.platform.url}/deploy`);
          expect(at.asked.slice(1)).toEqual([`${world.platform.url}/deploy`]);
          expect(await at.context.cookies()).toEqual([]);
          expect(await at.page.textContent("body")).not.toContain(token);
          // A key that is held since the page before presses nothing.
          expect(await at.page.evaluate("document.activeElement.tagName")).toBe("BODY");
          await isWell(at);
          // The same page takes another link, which the browser does not load anew.
          const { token: second } = await linkOf(site);
          await at.page.goto(`${world.platform.url}/deploy#token=${second}`);
          await at.page.getByText(`You have opened the link ${second.split("_")[2]}.`).waitFor();
          expect(at.page.url()).not.toContain(second);
          await at.enterOn("Open");
          await at.page.getByRole("heading", { name: `Set up ${site.project.name}` }).waitFor();
          expect(new URL(at.page.url()).pathname).toBe(`/deploy/${second.split("_")[2]}`);
        });

        it("names and sends no link that is not exactly one, and says that it is damaged", async () => {
          const site = await newSite(world);
          const [{ token }, { token: other }] = [await linkOf(site), await linkOf(site)];
          const at = await scene();
          const entry = `${world.platform.url}/deploy`;
          const damaged = [
            `#token=%20${token}`,
            `#token=${token}%20`,
            `#token=${other}${"%20".repeat(200)}%23token%3D${token}`,
            `#token=${other}#token=${token}`,
            `#token=${token.slice(0, -1)}`,
            `#token=${other}&token=${token}`,
          ];
          for (const hash of damaged) {
            // What a good link left in the form goes too.
            await at.page.goto(`${entry}#token=${other}`);
            await at.page.getByText("You have opened the link").waitFor();
            await at.page.goto(entry + hash);
            await at.page.getByText("The link that you have opened is damaged").waitFor();
            expect(await at.page.locator("#held").isVisible(), hash).toBe(false);
            expect(await at.page.getByLabel("The link, or the token at its end").inputValue(), hash).toBe("");
            expect(at.page.url(), hash).toBe(entry);
          }
          await isWell(at);
          await at.enterOn("Open");
          expect(at.page.url()).toBe(entry);
          expect(at.asked.filter((each) => each !== entry)).toEqual([]);
        });

        it("leaves a page that opened it no hand on it", async () => {
          const { deploymentLink, token } = await linkOf(await newSite(world));
          const at = await scene([callback]);
          await at.page.goto(callback);
          const opened = at.context.waitForEvent("page");
          await at.page.evaluate(`opened = window.open(${JSON.stringify(deploymentLink)}, "link"); undefined`);
          const page = await opened;
          await page.getByText(`You have opened the link ${token.split("_")[2]}.`).waitFor();
          expect(await page.evaluate("window.opener")).toBeNull();
          expect(await at.page.evaluate("opened.closed")).toBe(true);
        });

        it("shows before, while and after what it sets up, copies a line, and looks again by itself", async () => {
          const site = await newBuildSite(world);
          await release(site);
          await site.rebuild();
          const [{ id: packageId }] = (await site.builder("lease", { builderId: "b", types: ["helm"] })).body.packages;
          const outputs = { type: "helm", chart: "oci://registry.example.com/shop", version: "1.0.0" };
          await site.builder(`${packageId}/complete`, { builderId: "b", status: "ready", outputs });
          const { token, deploymentLink } = await linkOf(site);
          const at = await scene();
          await at.context.grantPermissions(["clipboard-read", "clipboard-write"]);
          await open(at, deploymentLink);
          await at.page.getByRole("heading", { name: `Set up ${site.project.name}` }).waitFor();
          expect(at.page.url()).not.toContain(token);
          expect(at.asked.join()).not.toContain(token);
          await isWell(at);
          const order = await at.tabOrder();
          expect(order.filter((each) => each.endsWith("(not seen)"))).toEqual([]);
          expect(order).toContain("Copy: Name your deployment");
          await at.enterOn("Copy: Name your deployment");
          await at.page.getByText("Copied.").waitFor();
          const copied = (await at.page.evaluate("navigator.clipboard.readText()")) as string;
          expect(copied).toContain(`'Authorization: Bearer %s' ${token} | curl`);
          // What the copied line does.
          const body = { name: "shop", platform: "kubernetes", setupMethod: "helm" };
          const made = (await world.call("POST", "/v1/deployments", { key: token, body })).body;

          const heard = async (status: string) =>
            expect((await site.report(made.deployment.id, status)).status).toBe(200);

          const own = await scene();
          await own.page.clock.install();
          await open(own, `${world.platform.url}/deploy#token=${made.token}`);
          await own.page.getByText("waits for the agent in your cluster").waitFor();
          expect(await own.page.textContent("#steps")).toContain(`sallyport.deployments.${made.deployment.id}=`);
          await heard("initial-setup");
          await own.page.clock.runFor(11_000);
          await own.page.getByText("is being prepared").waitFor();
          await isWell(own);
          for (const status of ["provisioning", "running"]) await heard(status);
          await own.page.clock.runFor(11_000);
          await own.page.getByText("All is settled.").waitFor();
          const asked = own.asked.length;
          await own.page.clock.runFor(60_000);
          expect(own.asked).toHaveLength(asked);
          await isWell(own);
        });

        it("opens without scripts, with the keyboard alone", async () => {
          const site = await newSite(world);
          await release(site);
          const { deploymentLink, token } = await linkOf(site);
          const at = await scene([], false);
          await at.page.goto(deploymentLink);
          await at.page.getByLabel("The link, or the token at its end").fill(deploymentLink);
          await at.page.keyboard.press("Enter");
          await at.page.getByRole("heading", { name: `Set up ${site.project.name}` }).waitFor();
          expect(await at.page.textContent("#steps")).toContain(token);
          expect(await at.page.getByRole("button", { name: /^Copy/ }).count()).toBe(0);
          expect(await at.page.getByRole("link", { name: "Look again" }).isVisible()).toBe(true);
        });

        it("says that it has ended, or is not known, and takes another one", async () => {
          const site = await newSite(world);
          const expiresAt = new Date(world.clock.wallNow().getTime() + 3600_000).toISOString();
          const { deploymentLink } = await linkOf(site, { expiresAt });
          world.clock.advance(3600_000);
          const at = await scene();
          await open(at, deploymentLink);
          await at.page.getByRole("heading", { name: "The link has ended" }).waitFor();
          expect(await at.page.textContent("body")).not.toContain(site.project.name);
          expectRefused(at, 410);
          await isWell(at);
          await at.typeInto("The link, or the token at its end", "something else");
          await at.page.keyboard.press("Enter");
          await at.page.getByRole("heading", { name: "There is no such link" }).waitFor();
          expectRefused(at, 404);
        });

        it("looks as the vendor has chosen, well in the light and the dark, and the host of an image does not learn the address", async () => {
          const site = await newSite(world);
          await release(site);
          const { deploymentLink } = await linkOf(site);
          const logo = "https://images.example.com/logo.png";
          const at = await scene([logo]);
          const asked: Record<string, string>[] = [];
          let answer: { readonly status: number; readonly body?: Buffer } = { status: 200, body: PIXEL };
          await at.context.route(logo, async (route) => {
            asked.push(await route.request().allHeaders());
            await route.fulfill({ ...answer, contentType: "image/png" });
          });
          const look = async (deploymentPortalAppearance: object) => {
            const body = { deploymentPortalAppearance };
            expect((await site.call("PATCH", `/v1/projects/${site.project.id}`, { body })).status).toBe(200);
          };
          await open(at, deploymentLink);
          await at.page.getByRole("heading", { name: `Set up ${site.project.name}` }).waitFor();
          for (const [index, preset] of PORTAL_PRESETS.entries()) {
            const density = PORTAL_DENSITIES[index % 2];
            await look({ preset, accentColor: PORTAL_COLOURS[index + 1], density, subtitle: "In ten minutes" });
            await at.page.reload();
            await isWell(at);
            const order = await at.tabOrder();
            expect(order.filter((each) => each.endsWith("(not seen)"))).toEqual([]);
          }
          expect(asked).toEqual([]);
          // Over the initials stands the image; where none comes, they stay.
          const tile = at.page.locator(".avatar");
          const initials = await tile.screenshot();
          await look({ preset: "minimal", accentColor: "slate", avatarUrl: logo });
          await at.page.reload();
          await at.page.waitForFunction("document.images[0].naturalWidth > 0");
          expect((await tile.screenshot()).equals(initials)).toBe(false);
          await isWell(at);
          answer = { status: 404 };
          await at.page.reload();
          await at.page.waitForFunction("document.images.length === 0");
          expect((await tile.screenshot()).equals(initials)).toBe(true);
          expectRefused(at, 404);
          expect(asked.length).toBeGreaterThanOrEqual(2);
          for (const headers of asked) expect(Object.keys(headers)).not.toContain("referer");
        });

        it("shows hostile names as text, at every width, and no page of another site may frame it", async () => {
          const site = await newSite(world);
          await release(site);
          const appearance = { title: HOSTILE, subtitle: "W".repeat(160) };
          const changed = { deploymentPortalAppearance: appearance };
          expect((await site.call("PATCH", `/v1/projects/${site.project.id}`, { body: changed })).status).toBe(200);
          const { deploymentLink } = await linkOf(site);
          const at = await scene([callback]);
          await open(at, deploymentLink);
          await at.page.getByRole("heading", { name: HOSTILE }).waitFor();
          expect(await at.page.locator("img, a[href^='javascript']").count()).toBe(0);
          await isWell(at);
          await at.page.goto(callback);
          await at.page.evaluate(`document.body.innerHTML = '<iframe src="${world.platform.url}/deploy"></iframe>'`);
          const frame = at.page.frameLocator("iframe");
          expect(await frame.locator("form").count()).toBe(0);
          expect(at.troubles.filter((each) => !each.includes("frame-ancestors"))).toEqual([]);
          at.troubles.length = 0;
        });
      });
    },
    {
      identity: {
        outside: { issuer: outside.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, name: "Example Org" },
        devLogin: true,
        clients: [CLI_CLIENT],
      },
    },
  );
});
