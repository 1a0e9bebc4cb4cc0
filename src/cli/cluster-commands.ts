import { checkCommand } from "./check/check-command.ts";
import type { Command } from "./kernel/command.ts";
import { versionCommand } from "./kernel/version-command.ts";
import { serviceCommand } from "./services/service-command.ts";

/** What runs in the customer's cluster: all that its image has. */
export const CLUSTER_COMMANDS: readonly Command[] = [
  serviceCommand({
    name: "agent",
    summary: "Carries requests from the platform into a cluster, and results back.",
    about:
      "Runs in the customer's cluster. Opens connections to the platform, never accepts any; creates our custom resources, changes nothing else.",
    load: async () => (await import("./services/agent-service.ts")).agentService,
  }),
  serviceCommand({
    name: "operator",
    summary: "Runs what the customer approved, in the customer's cluster.",
    about:
      "Runs in the customer's cluster and talks only to its API server. Executes what a grant allows, with an account made for that grant.",
    load: async () => (await import("./services/operator-service.ts")).operatorService,
  }),
  serviceCommand({
    name: "tunnel",
    summary: "Carries debug sessions that the customer opened, in the customer's cluster.",
    about:
      "Runs in the customer's cluster, where debug sessions are enabled. Opens connections to the platform, never accepts any; each session acts with an account of its own, and each request is recorded before it goes to the API server.",
    load: async () => (await import("./services/tunnel-service.ts")).tunnelService,
  }),
  serviceCommand({
    name: "machine-controller",
    summary: "Empties the nodes of machines, in the customer's cluster.",
    about:
      "Runs in the customer's cluster, where machines are enabled, and talks only to its API server. Carries out MachineDrains: cordons a node, evicts its pods within their budgets, and removes the node where that was asked for.",
    load: async () => (await import("./services/machine-controller-service.ts")).machineControllerService,
  }),
  serviceCommand({
    name: "join",
    summary: "Lets machines ask to join the cluster as nodes, where the customer enabled it.",
    about:
      "Runs in the customer's cluster, where machines are enabled. Machines with a join token ask it over HTTPS; it asks the platform whether the token is good, and writes a MachineJoin for which the customer decides. It has no right on nodes.",
    load: async () => (await import("./services/join-service.ts")).joinService,
  }),
  checkCommand,
  versionCommand,
];
