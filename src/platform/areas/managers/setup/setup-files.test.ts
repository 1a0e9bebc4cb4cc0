import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { isFull } from "../../../../base/testing/full.ts";
import { onEachDatabase } from "../../../testing/harness.ts";

const run = promisify(execFile);
/** Of the machine, not of the packages. */
const TERRAFORM = "terraform";
const hasTerraform = spawnSync(TERRAFORM, ["version"]).status === 0;
const CFN_LINT = "cfn-lint";
const hasCfnLint = isFull && spawnSync(CFN_LINT, ["--version"]).status === 0;

const TYPES: Readonly<Record<string, string>> = {
  "/deploy": "text/html; charset=utf-8",
  "/setup/google": "text/html; charset=utf-8",
  "/setup/manager.cloudformation.yaml": "application/yaml; charset=utf-8",
  "/setup/manager-1.0.0.tar.gz": "application/gzip",
};

onEachDatabase(
  "what a manager's setup names by address",
  (world) => {
    const create = async (more: object) => {
      const key = await (await world.workspace()).key("workspace.admin");
      const body = { name: "our manager", region: "here", ...more };
      const { status, body: setup } = await world.call("POST", "/v1/managers", { key, body });
      expect(status, JSON.stringify(setup)).toBe(201);
      return { key, setup, manager: () => world.call("GET", `/v1/managers/${setup.managerId}`, { key }) };
    };

    it.each([
      [{ cloud: "aws" }, ["/deploy", "/setup/manager.cloudformation.yaml"]],
      [{ cloud: "gcp" }, ["/deploy", "/setup/google"]],
      [{ cloud: "azure" }, ["/deploy", "/setup/manager-1.0.0.tar.gz"]],
      [{ cloud: "aws", setupMethod: "terraform" }, ["/deploy", "/setup/manager-1.0.0.tar.gz"]],
    ])("is served by the platform: %j", async (more, paths) => {
      const { setup } = await create(more);
      const named = new Set(JSON.stringify(setup).match(new RegExp(`${world.platform.url}/[^"#\\\\\\s]*`, "g")));
      expect([...named].map((url) => new URL(url).pathname).toSorted()).toEqual(paths);
      for (const url of named) {
        const answer = await fetch(url);
        expect([answer.status, answer.headers.get("content-type")], url).toEqual([200, TYPES[new URL(url).pathname]]);
        expect(await answer.text()).not.toContain(setup.setupToken);
      }
    });

    it("on Google Cloud is a page that says what to do, for that manager and no other text", async () => {
      const { setup } = await create({ cloud: "gcp" });
      const text = async (url: string) => (await fetch(url)).text();
      expect(await text(setup.setup.oauthStartUrl)).toContain(
        `${world.platform.url}/v1/managers/${setup.managerId}/bootstrap`,
      );
      const forged = new URL("/setup/google?manager=<b>&manager=x", world.platform.url).href;
      expect(await text(forged)).toContain("/v1/managers/&#60;managerId&#62;/bootstrap");
    });

    it("on AWS opens where a template is uploaded, as ours is not in S3", async () => {
      const { setup } = await create({ cloud: "aws" });
      expect(new URL(setup.setup.launchUrl).hash).toBe("#/stacks/create/template");
    });

    describe("the CloudFormation template", () => {
      /** Intrinsic functions are tags, whose argument is all that is looked at here. */
      const tags = ["Ref", "Sub", "GetAtt"].map((name) => ({ tag: `!${name}`, resolve: (text: string) => text }));
      const template = async () => {
        const text = await (await fetch(new URL("/setup/manager.cloudformation.yaml", world.platform.url))).text();
        return parse(text, { customTags: tags });
      };

      /** CloudFormation's side: calls the function and waits for the answer where it said. */
      async function deliver(requestType: string, properties: object) {
        const handler = await lambda();
        const answers: Record<string, unknown>[] = [];
        const server = createServer(async (request, response) => {
          const parts: Buffer[] = [];
          for await (const part of request) parts.push(part);
          answers.push(JSON.parse(Buffer.concat(parts).toString()), { type: request.headers["content-type"] });
          response.end();
        });
        await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
        onTestFinished(() => void server.close());
        const { port } = server.address() as AddressInfo;
        const request = { StackId: "stack", RequestId: "request", LogicalResourceId: "Bootstrap" };
        await handler({
          ...request,
          RequestType: requestType,
          ResponseURL: `http://127.0.0.1:${port}/`,
          ResourceProperties: properties,
        });
        // Its address is signed for an empty content type.
        expect(answers).toMatchObject([{ ...request, NoEcho: true }, { type: "" }]);
        return answers[0];
      }

      async function lambda(): Promise<(event: object) => Promise<void>> {
        const { Resources: resources } = await template();
        const exports: { handler?: (event: object) => Promise<void> } = {};
        runInNewContext(resources.BootstrapFunction.Properties.Code.ZipFile, { exports, fetch, AbortSignal });
        if (exports.handler === undefined) throw new Error("no handler");
        return exports.handler;
      }

      it("gives the parameters that the setup has, and knows its platform", async () => {
        const { Parameters: parameters, Resources: resources } = await template();
        const { setup } = await create({ cloud: "aws" });
        expect(parameters.PlatformUrl.Default).toBe(world.platform.url);
        expect(setup.setupToken).toMatch(new RegExp(parameters.SetupToken.AllowedPattern));
        expect(setup.managerId).toMatch(new RegExp(parameters.ManagerId.AllowedPattern));
        expect(parameters.SetupToken.NoEcho).toBe(true);
        // The longest that CloudFormation takes inline.
        expect(resources.BootstrapFunction.Properties.Code.ZipFile.length).toBeLessThan(4096);
      });

      // Its rules are AWS's own schemas; a stack is made nowhere.
      it.runIf(hasCfnLint)("is taken by cfn-lint", { timeout: 120_000 }, async () => {
        const folder = await mkdtemp(join(tmpdir(), "manager-template-"));
        onTestFinished(() => rm(folder, { recursive: true, force: true }));
        const file = join(folder, "template.yaml");
        const answer = await fetch(new URL("/setup/manager.cloudformation.yaml", world.platform.url));
        await writeFile(file, await answer.text());
        await expect(run(CFN_LINT, [file])).resolves.toMatchObject({ stdout: "" });
      });

      it("exchanges the token for the runtime key", async () => {
        const { setup, manager } = await create({ cloud: "aws" });
        const properties = {
          PlatformUrl: world.platform.url,
          ManagerId: setup.managerId,
          SetupToken: setup.setupToken,
        };
        const made = await deliver("Create", properties);
        expect(made).toMatchObject({
          Status: "SUCCESS",
          PhysicalResourceId: setup.managerId,
          Data: { apiKey: expect.stringMatching(/^sp_m_/), deploymentId: expect.stringMatching(/^dep_/) },
        });
        expect((await manager()).body.setupStatus).toBe("provisioning");
        const { apiKey: key } = (made?.Data ?? {}) as { readonly apiKey: string };
        expect((await world.call("GET", "/v1/whoami", { key })).body.role).toBe("manager.runtime");
        expect(await deliver("Delete", properties)).toMatchObject({ Status: "SUCCESS" });
        expect((await world.call("GET", "/v1/whoami", { key })).status).toBe(200);
      });

      it("fails the stack with the platform's words", async () => {
        const { setup } = await create({ cloud: "aws" });
        const SetupToken = `sp_g_${"0".repeat(12)}_${"0".repeat(40)}`;
        const properties = { PlatformUrl: world.platform.url, ManagerId: setup.managerId, SetupToken };
        const failed = await deliver("Create", properties);
        expect(failed).toMatchObject({ Status: "FAILED", Reason: expect.stringMatching(/^API_KEY_INVALID: /) });
        expect(JSON.stringify(failed)).not.toContain(SetupToken);
      });
    });

    describe.skipIf(!hasTerraform)("the Terraform module", () => {
      it("is fetched from the platform, and leaves the runtime key in a file", { timeout: 120_000 }, async () => {
        const { setup, manager } = await create({ cloud: "azure", region: "eu/%{x}" });
        const folder = await mkdtemp(join(tmpdir(), "manager-module-"));
        onTestFinished(() => rm(folder, { recursive: true, force: true }));
        await writeFile(join(folder, "main.tf"), setup.setup.mainTf);
        await writeFile(join(folder, "terraform.tfvars"), setup.setup.tfvars);
        const env = { ...process.env, TF_VAR_setup_token: setup.setupToken, CHECKPOINT_DISABLE: "1" };
        const terraform = (...args: string[]) =>
          run(TERRAFORM, [...args, "-no-color", "-input=false"], { cwd: folder, env });
        await terraform("init");
        expect((await run(TERRAFORM, ["providers"], { cwd: folder })).stdout).toContain(setup.setup.providerSource);
        const { stdout } = await terraform("apply", "-auto-approve");
        expect(stdout).not.toContain(setup.setupToken);
        expect((await manager()).body.setupStatus).toBe("provisioning");
        const file = join(folder, "runtime.key");
        expect((await stat(file)).mode & 0o777).toBe(0o600);
        const key = await readFile(file, "utf8");
        expect((await world.call("GET", "/v1/whoami", { key })).body.role).toBe("manager.runtime");
        const state = await readFile(join(folder, "terraform.tfstate"), "utf8");
        for (const secret of [key, setup.setupToken]) expect(state).not.toContain(secret);
        expect((await terraform("apply", "-auto-approve")).stdout).toContain("No changes");
        await expect(run(TERRAFORM, ["fmt", "-check", "main.tf"], { cwd: folder })).resolves.toBeDefined();
      });
    });
  },
  { supportedRegions: { aws: ["here"], gcp: ["here"], azure: ["here", "eu/%{x}"] } },
);
