import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/contract/table.ts";
import type { Route } from "../../src/contract/wire/route.ts";
import { Checker } from "../../src/platform/kernel/input/syntax.ts";
import { onEachDatabase } from "../../src/platform/testing/harness.ts";
import {
  accessRelayStops,
  accessRequestStops,
  commandStops,
  debugRelayStops,
  debugSessionStops,
  operationStops,
} from "./tour/access-stops.ts";
import {
  deploymentPortalStops,
  packageBuilderStops,
  packageStops,
  projectStops,
  releaseChannelStops,
  releaseStops,
} from "./tour/delivery-stops.ts";
import { deploymentGroupStops, deploymentStops, syncStops } from "./tour/deployment-stops.ts";
import { machineRuntimeStops, machineStops } from "./tour/machine-stops.ts";
import { eventStops, gatewayStops, managerRuntimeStops, managerStops, resolveStops } from "./tour/manager-stops.ts";
import {
  apiKeyStops,
  GIT_HOST,
  gitNamespaceStops,
  invitationStops,
  memberStops,
  userStops,
  whoamiStops,
  workspaceStops,
} from "./tour/people-stops.ts";
import { resourceStops } from "./tour/resource-stops.ts";
import { newStage, type Stage } from "./tour/stage.ts";

type Stop = (stage: Stage) => Promise<unknown>;

const TOUR: Readonly<Record<string, Readonly<Record<string, Stop>>>> = {
  accessRelay: accessRelayStops,
  accessRequests: accessRequestStops,
  apiKeys: apiKeyStops,
  commands: commandStops,
  debugRelay: debugRelayStops,
  debugSessions: debugSessionStops,
  deploymentGroups: deploymentGroupStops,
  deploymentPortal: deploymentPortalStops,
  deployments: deploymentStops,
  events: eventStops,
  gateways: gatewayStops,
  gitNamespaces: gitNamespaceStops,
  invitations: invitationStops,
  machineRuntime: machineRuntimeStops,
  machines: machineStops,
  managerRuntime: managerRuntimeStops,
  managers: managerStops,
  members: memberStops,
  operations: operationStops,
  packageBuilder: packageBuilderStops,
  packages: packageStops,
  projects: projectStops,
  releaseChannels: releaseChannelStops,
  releases: releaseStops,
  resolve: resolveStops,
  resources: resourceStops,
  sync: syncStops,
  user: userStops,
  whoami: whoamiStops,
  workspaces: workspaceStops,
};

/** Routes that answer here, but without success, because there is no object store. */
const REFUSED: Readonly<Record<string, string>> = {
  "operations.registerPlugin": "BUNDLE_NOT_UPLOADED",
  "operations.uploadUrl": "BUNDLE_STORAGE_UNAVAILABLE",
};

const ALL = Object.entries(ROUTES).flatMap(([area, routes]) =>
  Object.entries(routes).map(([name, route]): [string, string, Route] => [area, name, route]),
);

onEachDatabase(
  "the client against the platform",
  (world) => {
    let stage: Stage;
    const heard: { readonly call: string; readonly status: number }[] = [];

    beforeAll(async () => {
      stage = await newStage(world, (area, route, status) => heard.push({ call: `${area}.${route}`, status }));
    }, 120_000);
    afterAll(() => stage?.close());

    describe("gets what the contract promises from", () => {
      const calls = ALL.filter(([, , { success }]) => success !== 101);
      it.each(calls)("%s.%s", async (area, name, route) => {
        const stop = TOUR[area]?.[name];
        if (stop === undefined)
          throw new Error(`${area}.${name} is called by nobody: give it a stop in test/platform/tour`);
        const call = `${area}.${name}`;
        const refused = REFUSED[call];
        if (refused !== undefined) {
          await expect(stop(stage)).rejects.toMatchObject({ code: refused });
          return;
        }
        heard.length = 0;
        const answer = await stop(stage);
        const statuses = heard.filter((each) => each.call === call).map(({ status }) => status);
        expect([route.success, route.alternative]).toContain(statuses.at(-1));
        if (route.response === undefined) expect(answer).toBeUndefined();
        else expect(new Checker("response", route.response).issues(answer)).toEqual([]);
      });
    });

    it("tells who calls a WebSocket's path without asking for one", async () => {
      const params = { id: `dbg_${"0".repeat(28)}` };
      for (const name of ["attach", "tunnel"] as const) {
        await expect(stage.admin.debugRelay[name]({ params }, stage.signal)).rejects.toMatchObject({
          code: "UPGRADE_REQUIRED",
          status: 426,
        });
      }
    });
  },
  { gitHost: GIT_HOST },
);
