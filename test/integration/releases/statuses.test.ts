import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEPLOYMENT_STATUSES, type DeploymentStatus } from "../../../src/contract/deployments/deployment-state.ts";
import { WITH_RELEASES } from "../../world/installation.ts";
import { container, frozen, manifests, postgres, StatusesWorld } from "./statuses-world.ts";

// Each status of a deployment, reached with the platform, the agent, the operator, an API server, its controllers and its
// scheduler. The vendor and the customer are this test; nodes are simulated. The entries are one life in its order.

const cluster = useCluster({ controllers: true, kwok: { nodes: 1 }, holds: WITH_RELEASES });
let world: StatusesWorld;
/** The deployment of this life. */
let app = "";

/** Its plan is refused: releases expose nothing here. */
const exposed = manifests("front", {
  ...{ apiVersion: "v1", kind: "Service", metadata: { name: "front" } },
  spec: { type: "LoadBalancer", ports: [{ port: 80 }], selector: { app: "front" } },
});
const settings = (name: string) =>
  manifests(name, { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" } });
/** It asks for more than the cluster's node has, and leaves something behind. */
const LARGE = { ...container("api", "1000"), ...frozen(settings("ledger")) };

beforeAll(async () => {
  world = await StatusesWorld.open(cluster());
}, 600_000);
afterAll(() => world?.close());

interface Entry {
  readonly when: string;
  /** No cluster brings it about, so that a manager's report does, and the platform judges it. */
  readonly byReportBecause?: string;
  /** @returns the deployment that has the status now, and the code of its error */
  readonly reach: () => Promise<readonly [deploymentId: string, code?: string]>;
}

/** A status of the contract that is missing here, or one that it does not have, does not compile. */
const STATUSES: Readonly<Record<DeploymentStatus, Entry>> = {
  pending: {
    when: "it is made, and the customer has not accepted it",
    reach: async () => {
      app = await world.deploys("app", await world.releases("1.0.0", exposed));
      await world.isShown(app);
      return [app];
    },
  },
  "preflights-failed": {
    when: "the customer accepts it, and the plan of its first release is refused",
    reach: async () => {
      await world.accepts(app);
      return [app, "PREFLIGHT_CHECKS_FAILED"];
    },
  },
  "initial-setup": {
    when: "another release is tried, and its plan waits for the customer",
    reach: async () => {
      await world.pins(app, await world.releases("1.1.0", LARGE));
      await world.retries(app);
      return [app, "APPROVAL_PENDING"];
    },
  },
  "initial-setup-failed": {
    when: "the customer says no",
    reach: async () => {
      await world.denies(app);
      return [app, "ROLLOUT_DENIED"];
    },
  },
  provisioning: {
    when: "after a retry the customer says yes; its pod fits on no node, and no machine can join",
    reach: async () => {
      await world.retries(app);
      await world.approves(app);
      await world.awaitsNodes(app);
      return [app];
    },
  },
  "waiting-for-machines": {
    when: "the customer lets machines join",
    reach: async () => {
      await world.letsMachinesJoin(app);
      return [app, "MACHINES_NEEDED"];
    },
  },
  "provisioning-failed": {
    when: "the customer stops it",
    reach: async () => {
      await world.aborts(app);
      return [app, "PROVISIONING_FAILED"];
    },
  },
  running: {
    when: "after a retry and a yes a machine comes that has room",
    reach: async () => {
      await world.retries(app);
      await world.approves(app);
      await world.sees(app, "waiting-for-machines", "MACHINES_NEEDED");
      await world.machineComes("m-1", "2000");
      return [app];
    },
  },
  "refresh-failed": {
    when: "a person deletes an object of the release",
    reach: async () => {
      await world.deletes("serviceaccount", "api");
      await world.operatorChanges();
      return [app, "RESOURCE_DRIFT"];
    },
  },
  "update-pending": {
    when: "another release is wanted, and its plan waits for the customer",
    reach: async () => {
      await world.pins(app, await world.releases("1.2.0", { ...LARGE, ...container("more", "4000") }));
      return [app, "APPROVAL_PENDING"];
    },
  },
  updating: {
    when: "the customer says yes; a pod of it fits on no node, and no machine can join any more",
    reach: async () => {
      await world.letsNoMachineJoin();
      await world.approves(app);
      return [app];
    },
  },
  "update-failed": {
    when: "the customer stops it, and what ran before is back",
    reach: async () => {
      await world.aborts(app);
      return [app, "ROLLED_BACK"];
    },
  },
  "delete-pending": {
    when: "the vendor deletes it, and the plan of that waits for the customer",
    reach: async () => {
      await world.removes(app);
      return [app, "APPROVAL_PENDING"];
    },
  },
  "delete-failed": {
    when: "the customer says no to that",
    reach: async () => {
      await world.denies(app);
      return [app, "ROLLOUT_DENIED"];
    },
  },
  deleting: {
    when: "it is tried again, and waits for the customer again",
    reach: async () => {
      await world.retries(app);
      return [app, "APPROVAL_PENDING"];
    },
  },
  "teardown-required": {
    when: "the customer says yes, and what is frozen is left",
    reach: async () => {
      await world.approves(app);
      return [app, "RESOURCES_LEFT"];
    },
  },
  deleted: {
    when: "another one, which leaves nothing, is installed and deleted",
    reach: async () => {
      const other = world.observed;
      await world.sees(other, "running");
      // One that waits is ended also by one that no objects can be made of: a yes to it would come too late.
      await world.pins(other, await world.releases("1.9.0", settings("early")));
      await world.sees(other, "update-pending", "APPROVAL_PENDING");
      await world.pins(other, await world.releases("1.9.1", postgres("db")));
      await world.sees(other, "update-failed", "PREFLIGHT_CHECKS_FAILED");
      expect(await world.endedAs(other)).toEqual(["Failed", "Superseded"]);
      await world.pins(other, await world.releases("2.0.0", settings("settings")));
      await world.approves(other);
      await world.sees(other, "running");
      await world.removes(other);
      await world.approves(other);
      return [other];
    },
  },
  "teardown-failed": {
    when: "what is left could not be taken away",
    byReportBecause: "it is of who sets up and tears down a cloud; the agent leaves what a deletion left to a person",
    reach: async () => {
      await world.agentEnds();
      await world.reports(app, "teardown-failed", "TEARDOWN_FAILED");
      return [app, "TEARDOWN_FAILED"];
    },
  },
  error: {
    when: "a manager cannot go on",
    byReportBecause: "the agent has no fault that a retry or another release could not heal",
    reach: async () => {
      const other = await world.deploys("beyond-help", await world.releases("3.0.0", settings("other")));
      await world.reports(other, "error", "BEYOND_HELP");
      return [other, "BEYOND_HELP"];
    },
  },
};

test("the entries are the contract's statuses", () => {
  expect(Object.keys(STATUSES).toSorted()).toEqual(DEPLOYMENT_STATUSES.toSorted());
  const reported = Object.entries(STATUSES).filter(([, { byReportBecause }]) => byReportBecause !== undefined);
  expect(reported.map(([status]) => status)).toEqual(["teardown-failed", "error"]);
});

test.each(Object.entries(STATUSES).map(([status, entry]) => ({ ...entry, status: status as DeploymentStatus })))(
  "$status: $when",
  async ({ status, reach }) => {
    const [id, code] = await reach();
    const { error } = await world.sees(id, status, code);
    expect(error?.code).toBe(code);
  },
);
