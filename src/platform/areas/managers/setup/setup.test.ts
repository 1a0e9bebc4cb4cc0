import { expect, it } from "vitest";
import { onEachDatabase } from "../../../testing/harness.ts";
import { newSite } from "../../deployments/testing/site.ts";

const PORTAL = "https://portal.example.com";
const COPY = "https://bucket.s3.amazonaws.com/manager.yaml";

onEachDatabase(
  "links for people",
  (world) => {
    it("a manager's setup opens in the portal, and fetches its files from the platform", async () => {
      const key = await (await world.workspace()).key("workspace.admin");
      const body = { name: "our manager", cloud: "aws", region: "eu-west-1" };
      const made = (await world.call("POST", "/v1/managers", { key, body })).body;
      expect(made.deploymentLink).toBe(`${PORTAL}/deploy#token=${made.setupToken}`);
      expect(made.setup.deploymentPortalUrl).toBe(`${PORTAL}/deploy`);
      expect(made.setup.templateUrl).toMatch(new RegExp(`^${world.platform.url}/`));
    });

    it("a template that was copied into S3 opens as a stack ready to be created", async () => {
      const key = await (await world.workspace()).key("workspace.admin");
      const body = { name: "our manager", cloud: "aws", region: "eu-west-1" };
      const { managerId, setup } = (await world.call("POST", "/v1/managers", { key, body })).body;
      const [path, query] = new URL(setup.launchUrl).hash.split("?");
      expect([path, Object.fromEntries(new URLSearchParams(query))]).toEqual([
        "#/stacks/create/review",
        { templateURL: COPY, stackName: setup.stackName, param_ManagerId: managerId },
      ]);
    });

    it("a region or network of a setup reaches its settings, and no host's name", async () => {
      const key = await (await world.workspace()).key("workspace.admin");
      const create = async (more: object) => {
        const body = { name: "our manager", cloud: "aws", region: "eu/%{x}", network: "default", ...more };
        return (await world.call("POST", "/v1/managers", { key, body })).body.setup;
      };
      const aws = await create({});
      expect(aws.stackSettings).toEqual({ network: { type: "use-default" } });
      expect(new URL(aws.launchUrl)).toMatchObject({
        host: "console.aws.amazon.com",
        search: "?region=eu%2F%25%7Bx%7D",
      });
      const terraform = await create({ cloud: "azure", network: "create" });
      expect(terraform.stackSettings).toEqual({ network: { type: "create" } });
      expect(terraform.tfvars).toContain('region = "eu/%%{x}"\n');
    });

    it("a group token's link opens in the portal", async () => {
      const site = await newSite(world);
      const policy = { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] };
      const body = { deploymentSetupConfig: { metadata: {}, policy, environmentVariables: [] } };
      const made = (await site.call("POST", `/v1/deployment-groups/${site.group.id}/tokens`, { body })).body;
      expect(made.deploymentLink).toBe(`${PORTAL}/deploy#token=${made.token}`);
    });
  },
  {
    ...{ portalUrl: PORTAL, setupTemplateUrl: COPY },
    supportedRegions: { aws: ["eu/%{x}"], gcp: [], azure: ["eu/%{x}"] },
  },
);
