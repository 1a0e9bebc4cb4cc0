import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { json } from "../../../database/json.ts";
import { type Seen, TestBrowser } from "../../../identity/testing/test-browser.ts";
import { onEachDatabase } from "../../../testing/harness.ts";
import { newSite, type Site } from "../../deployments/testing/site.ts";
import { newBuildSite } from "../../packages/testing/builds.ts";
import { release } from "../../releases/testing/releases.ts";
import { linesOf } from "../testing/portal-lines.ts";
import { lookOf } from "./looks.ts";

const run = promisify(execFile);
const POLICY = { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] };
const HOSTILE = `"><script>alert(1)</script><img src=x onerror='alert(2)'>`;
const logged: string[] = [];

onEachDatabase(
  "the page of a deployment link",
  (world) => {
    async function linkOf(site: Site, more: object = {}) {
      const deploymentSetupConfig = { metadata: {}, policy: POLICY, environmentVariables: [] };
      const body = { deploymentSetupConfig, ...more };
      const answer = await site.call("POST", `/v1/deployment-groups/${site.group.id}/tokens`, { body });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body as { readonly token: string; readonly deploymentLink: string };
    }

    /** What a person does on the entry page. */
    async function openedWith(token: string, browser = new TestBrowser()): Promise<Seen> {
      const entry = await browser.get(new URL("/deploy", world.platform.url));
      return browser.submit(entry, { token }, "/deploy");
    }

    it("shows what is set up where, and the lines for it, with the token in the page and in no address", async () => {
      const site = await newSite(world);
      await release(site);
      const { token, deploymentLink } = await linkOf(site);
      logged.length = 0;
      const shown = await openedWith(deploymentLink);
      expect(shown.status).toBe(200);
      expect(new URL(shown.url).pathname).toBe(`/deploy/${token.split("_")[2]}`);
      expect(shown.url).not.toContain(token);
      expect(shown.text).toContain(`Set up ${site.project.name}`);
      expect(shown.text).toContain(site.workspace.name);
      expect(linesOf(shown).join("\n")).toContain(token);
      expect(shown.headers.get("cache-control")).toBe("no-store");
      expect(shown.headers.get("referrer-policy")).toBe("same-origin");
      expect(shown.headers.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(shown.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
      expect(shown.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(shown.headers.get("content-security-policy")).not.toMatch(/unsafe|\*|https?:/);
      expect(logged.join("\n")).toContain("/deploy/{keyId}");
      expect(logged.join("\n")).not.toContain(token);
    });

    it("opens no link out of a text that holds more than one link or token", async () => {
      const site = await newSite(world);
      const [one, other] = [await linkOf(site), await linkOf(site)];
      const texts = [
        `${one.token}${" ".repeat(200)}#token=${other.token}`,
        `${one.token}#token=${other.token}`,
        `${one.deploymentLink}#token=${other.token}`,
        `${one.deploymentLink} ${other.token}`,
        `see ${one.deploymentLink}`,
        `${" ".repeat(2_560)}${one.token}`,
      ];
      for (const text of texts) expect((await openedWith(text)).status, text).toBe(404);
      for (const text of [one.token, ` ${one.deploymentLink}\t`, `#token=${one.token}`]) {
        expect((await openedWith(text)).status, text).toBe(200);
      }
    });

    it("a browser keeps the link sealed, for twelve hours, for this link alone", async () => {
      const site = await newSite(world);
      const [one, other] = [await linkOf(site), await linkOf(site)];
      const browser = new TestBrowser();
      const shown = await openedWith(one.token, browser);
      const second = await openedWith(other.token, browser);
      expect(linesOf(await browser.get(shown.url)).join()).toContain(one.token);
      expect(linesOf(await browser.get(second.url)).join()).toContain(other.token);
      const entry = await fetch(new URL("/deploy", world.platform.url), {
        method: "POST",
        redirect: "manual",
        headers: { origin: world.platform.url, "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ token: one.token }),
      });
      const [cookie = ""] = entry.headers.getSetCookie();
      expect(cookie).toMatch(/; Path=\/deploy\/[0-9a-z]{12}; Max-Age=43200; HttpOnly; SameSite=Lax$/);
      expect(cookie).not.toContain(one.token);
      const [pair = ""] = cookie.split(";");
      const headers = { cookie: pair };
      expect((await fetch(second.url, { headers })).status).toBe(403);
      expect((await fetch(shown.url, { headers: { cookie: `${pair}x` } })).status).toBe(403);
      expect((await fetch(shown.url, { headers })).status).toBe(200);
      world.clock.advance(12 * 3600 * 1000);
      expect((await fetch(shown.url, { headers })).status).toBe(403);
    });

    it("says no more than that a link has ended, and that only to who has its token", async () => {
      const site = await newSite(world);
      const expiresAt = new Date(world.clock.wallNow().getTime() + 3600_000).toISOString();
      const { token } = await linkOf(site, { expiresAt });
      const browser = new TestBrowser();
      const before = await openedWith(token, browser);
      expect(before.text).toContain("the link ends within a day");
      world.clock.advance(3600_000);
      for (const ended of [await browser.get(before.url), await openedWith(token)]) {
        expect([ended.status, ended.text]).toEqual([410, expect.stringContaining("Its time is over")]);
        for (const name of [site.project.name, site.workspace.name, token]) expect(ended.text).not.toContain(name);
      }
      const foreign = await openedWith(`${token.slice(0, -1)}${token.endsWith("x") ? "y" : "x"}`);
      expect([foreign.status, foreign.text]).toEqual([404, expect.stringContaining("There is no such link")]);
      expect((await openedWith("what?")).status).toBe(404);
    });

    it("takes no other key, and keeps none", async () => {
      const site = await newSite(world);
      const browser = new TestBrowser();
      for (const key of [site.admin, site.manager.key]) {
        const refused = await openedWith(key, browser);
        expect(refused.status).toBe(404);
        expect(refused.headers.getSetCookie()).toEqual([]);
      }
      const id = await site.deploy("shop");
      const scope = { type: "deployment", deploymentId: id, projectId: site.project.id } as const;
      const refused = await openedWith(await site.workspace.key("deployment.telemetry-writer", scope), browser);
      expect([refused.status, refused.headers.getSetCookie()]).toEqual([400, []]);
    });

    it("takes a token from its own pages only", async () => {
      const site = await newSite(world);
      const { token } = await linkOf(site);
      for (const origin of ["https://elsewhere.example", "null", undefined]) {
        const answer = await fetch(new URL("/deploy", world.platform.url), {
          method: "POST",
          redirect: "manual",
          headers: {
            "content-type": "application/x-www-form-urlencoded",
            ...(origin !== undefined && { origin }),
          },
          body: new URLSearchParams({ token }),
        });
        expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
      }
    });

    it("shows what a tenant typed as text, follows no address but of the web, and gives a shell plain words only", async () => {
      const site = await newBuildSite(world);
      await release(site);
      const deploymentPortalAppearance = {
        title: HOSTILE.slice(0, 80),
        subtitle: HOSTILE,
        supportUrl: "javascript:alert(3)",
        avatarUrl: "https://x.example;script-src/'unsafe-inline'\"><script>alert(4)</script>",
        docsUrl: "https://docs.example.com/?a=1&b='2'",
      };
      // As rules of long ago may have let it in.
      await world.platform.db
        .updateTable("projects")
        .set({ deployment_portal_appearance: json(deploymentPortalAppearance) })
        .where("id", "=", site.project.id)
        .execute();
      await site.rebuild();
      const [{ id }] = (await site.builder("lease", { builderId: "b", types: ["helm"] })).body.packages;
      const outputs = { type: "helm", chart: "oci://x.example/shop;$(id)`id`", version: "1.0.0" };
      await site.builder(`${id}/complete`, { builderId: "b", status: "ready", outputs });
      const { token } = await linkOf(site);
      const shown = await openedWith(token);
      expect(shown.status).toBe(200);
      expect(shown.text).toContain("&#60;script&#62;alert(1)");
      expect(shown.text).not.toMatch(/<img|<script>alert|href="javascript:/);
      expect(shown.text).toContain(
        '<a href="https://docs.example.com/?a=1&#38;b=%272%27" rel="noreferrer">Documentation</a>',
      );
      expect(linesOf(shown).join("\n")).not.toMatch(/\$\(id\)|`/);
      expect(shown.text).not.toContain("x.example");
      expect(shown.headers.get("content-security-policy")).not.toMatch(/unsafe|\*|https?:/);
    });

    it("looks as the vendor has chosen, and asks the host of the vendor's image at most", async () => {
      const site = await newSite(world);
      await release(site);
      const look = async (deploymentPortalAppearance: object | null) => {
        const body = { deploymentPortalAppearance };
        expect((await site.call("PATCH", `/v1/projects/${site.project.id}`, { body })).status).toBe(200);
      };
      const browser = new TestBrowser();
      const { url, text } = await openedWith((await linkOf(site)).token, browser);
      expect(text).toContain(lookOf({ preset: "clean", accentColor: "blue", density: "comfortable" }));
      expect(text).toContain(`<p class="vendor">${site.workspace.name}</p>`);
      const chosen = { preset: "playful", accentColor: "pink", density: "compact" } as const;
      const words = { title: "The shop", subtitle: "In ten minutes", supportUrl: "mailto:help@example.com" };
      await look({ ...chosen, ...words, avatarUrl: "https://images.example.com/logo.png?a=1&b=2" });
      const shown = await browser.get(url);
      expect(shown.text).toContain(lookOf(chosen));
      expect(shown.text).toContain("<h1>The shop</h1>");
      expect(shown.text).toContain('<p class="subtitle">In ten minutes</p>');
      expect(shown.text).toContain('<a href="mailto:help@example.com" rel="noreferrer">Support</a>');
      expect(shown.text).toContain('<img src="https://images.example.com/logo.png?a=1&#38;b=2" alt=""');
      const style = createHash("sha256").update(shown.text.match(/<style>([^<]*)<\/style>/)?.[1] ?? "");
      const policy = shown.headers.get("content-security-policy")?.split("; ") ?? [];
      expect(policy).toContain(`style-src 'sha256-${style.digest("base64")}'`);
      expect(policy.filter((each) => /https?:/.test(each))).toEqual(["img-src data: https://images.example.com"]);
      expect(shown.headers.get("cross-origin-embedder-policy")).toBe("credentialless");
      // No title of blanks leaves the page without a heading.
      await look({ title: " ", subtitle: " " });
      const blank = await browser.get(url);
      expect(blank.text).toContain(`<h1>Set up ${site.project.name}</h1>`);
      expect(blank.text).not.toContain('class="subtitle"');
      expect(blank.headers.get("cross-origin-embedder-policy")).toBeNull();
    });

    it("follows a deployment from its link until it runs, with its error in words", async () => {
      const site = await newSite(world);
      await release(site);
      const { token: group } = await linkOf(site);
      const made = await world.call("POST", "/v1/deployments", {
        key: group,
        body: { name: "shop", platform: "kubernetes", setupMethod: "helm" },
      });
      const { deployment, token } = made.body;
      const browser = new TestBrowser();
      const shown = await openedWith(token, browser);
      expect(shown.text).toContain("waits for the agent in your cluster");
      const lines = linesOf(shown).join("\n");
      expect(lines).toContain(`kubectl patch manageddeployments.sallyport.dev ${deployment.id.replace("_", "-")} `);
      expect(lines).toContain(token);
      const again = async () => (await browser.get(shown.url)).text;
      expect(await again()).not.toContain("<p data-settled>");
      const error = { code: "PROVISIONING_FAILED", message: "no quota <b>here</b>", internal: false };
      await site.report(deployment.id, "initial-setup");
      await site.report(deployment.id, "provisioning");
      await site.report(deployment.id, "provisioning-failed", {}, { error });
      expect(await again()).toContain(
        "the setup failed</span>. no quota &#60;b&#62;here&#60;/b&#62; (PROVISIONING_FAILED)",
      );
    });

    it("the lines of a manager's setup put its key into a Secret, and no program's arguments show the token", async () => {
      const key = await (await world.workspace()).key("workspace.admin");
      const body = { name: "our manager", cloud: "aws", region: "eu-west-1", setupMethod: "terraform" };
      const { managerId, deploymentLink, setupToken } = (await world.call("POST", "/v1/managers", { key, body })).body;
      const browser = new TestBrowser();
      const shown = await openedWith(deploymentLink, browser);
      expect(shown.text).toContain("Set up the manager our manager");
      expect(shown.text).toContain("nothing has used this link");
      expect(linesOf(shown).join("\n")).toContain(`export TF_VAR_setup_token=${setupToken}`);
      const { said, secret } = await pasted(linesOf(shown)[0] ?? "");
      expect(said).not.toContain(setupToken);
      expect(said).toContain("create secret generic sallyport-runtime-key --from-file=key=/dev/stdin");
      expect(secret).toMatch(/^sp_m_/);
      expect((await browser.get(shown.url)).text).toContain("its key is handed out");
      const beat = { status: "healthy", url: "https://manager.example.com", managementConfigs: {} };
      await world.call("POST", `/v1/managers/${managerId}/heartbeat`, { key: secret, body: beat });
      const done = await browser.get(shown.url);
      expect([done.status, done.text]).toEqual([410, expect.stringContaining("when the manager is heard of")]);
    });

    it("closes a link in this browser when it is asked to", async () => {
      const site = await newSite(world);
      const { token } = await linkOf(site);
      const browser = new TestBrowser();
      const shown = await openedWith(token, browser);
      const closed = await browser.submit(shown, {}, `${new URL(shown.url).pathname}/close`);
      expect([closed.status, new URL(closed.url).pathname]).toEqual([200, "/deploy"]);
      expect((await browser.get(shown.url)).status).toBe(403);
    });
  },
  { log: pino({ level: "debug" }, { write: (line: string) => void logged.push(line) }) },
);

/** Runs the lines in a shell where `kubectl` notes its arguments and keeps what it reads. */
async function pasted(lines: string): Promise<{ readonly said: string; readonly secret: string }> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-pasted-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const kubectl = `#!/bin/sh\necho "$@" >> ${folder}/said\ncase "$*" in *stdin*) cat > ${folder}/secret ;; esac\n`;
  await writeFile(join(folder, "kubectl"), kubectl);
  await chmod(join(folder, "kubectl"), 0o755);
  await run("sh", ["-euc", lines], { env: { PATH: `${folder}:/usr/bin:/bin` } });
  return { said: await readFile(join(folder, "said"), "utf8"), secret: await readFile(join(folder, "secret"), "utf8") };
}
