import { type Budget, hourly, limit, rows, seats } from "./budget-kinds.ts";

const REVOKE = "revoke keys that are not used any more, or ask an admin of the workspace to";
const REMOVE = "remove what is not used any more, or ask who runs the platform for a larger budget";
const REPORT = "report fewer: what is gone leaves with the next complete list, or ask for a larger budget";
const KEPT = "make a release only of what is to be installed, or ask who runs the platform for a larger budget";
const FILES = "files go with their session's record, 400 days after its beginning: ask for a larger budget";
const LATER = "end what is not used any more, or try again after Retry-After seconds";

/** All budgets. The documentation, the settings and the metrics are generated from this table. */
export const BUDGETS = {
  "workspace-api-keys": limit({
    what: "live API keys, without those that customers' tokens minted",
    tenant: "workspace",
    size: 1000,
    hint: REVOKE,
  }),
  "workspace-members-api-keys": rows({
    what: "of these, live API keys that others than workspace admins minted: the rest is left to admins and managers' setups",
    tenant: "workspace",
    size: 800,
    hint: REVOKE,
  }),
  "minter-api-keys": rows({
    what: "live API keys that come from one key or user, also by keys that it minted; an admin begins a new line with each",
    tenant: "key or user",
    size: 200,
    hint: REVOKE,
  }),
  "group-api-keys": rows({
    what: "live API keys that the group's tokens and its deployments' tokens minted, beside two for each of its maxDeployments",
    tenant: "deployment group",
    size: 100,
    hint: REVOKE,
  }),
  "deployment-api-keys": rows({
    what: "live API keys that the group's tokens minted for one deployment",
    tenant: "deployment",
    size: 20,
    hint: REVOKE,
  }),
  "workspace-new-api-keys": hourly({
    what: "API keys that workspace admins and managers' setups minted within an hour, ended or not",
    tenant: "workspace",
    size: 1000,
    hint: LATER,
  }),
  "minter-new-api-keys": hourly({
    what: "API keys that were minted within an hour, ended or not, counted as for `minter-api-keys`",
    tenant: "key or user",
    size: 200,
    hint: LATER,
  }),
  "group-new-api-keys": hourly({
    what: "API keys that were minted within an hour, ended or not, counted as for `group-api-keys`",
    tenant: "deployment group",
    size: 100,
    hint: LATER,
  }),
  "user-workspaces": rows({
    what: "workspaces that one user made",
    tenant: "user",
    size: 20,
    hint: REMOVE,
  }),
  "workspace-projects": limit({
    what: "projects",
    tenant: "workspace",
    size: 200,
    hint: REMOVE,
  }),
  "project-groups": rows({
    what: "deployment groups",
    tenant: "project",
    size: 5000,
    hint: REMOVE,
  }),
  "group-deployments": rows({
    what: "deployments that are not deleted, whatever the group's maxDeployments allows",
    tenant: "deployment group",
    size: 20_000,
    hint: REMOVE,
  }),
  "project-releases": rows({
    what: "releases, which are kept for good",
    tenant: "project",
    size: 10_000,
    hint: KEPT,
  }),
  "project-release-bytes": rows({
    what: "bytes of releases' stacks, as stored",
    tenant: "project",
    size: 1024 ** 3,
    hint: KEPT,
  }),
  "workspace-invitations": limit({
    what: "pending invitations",
    tenant: "workspace",
    size: 100,
    hint: REMOVE,
  }),
  "project-channels": limit({
    what: "release channels",
    tenant: "project",
    size: 100,
    hint: REMOVE,
  }),
  "project-plugins": limit({
    what: "custom plugins",
    tenant: "project",
    size: 64,
    hint: REMOVE,
  }),
  "workspace-image-archives": rows({
    what: "archives of operators' images in the object store, of which the newest stay; of one project 3 at most",
    tenant: "workspace",
    size: 20,
    hint: "name a registry for operators' images, or ask for a larger budget",
    drops: true,
  }),
  "deployment-new-access-requests": hourly({
    what: "access requests that were made within an hour",
    tenant: "deployment",
    size: 300,
    hint: LATER,
  }),
  "deployment-access-request-bytes": rows({
    what: "bytes of the plans of access requests, as stored, which are kept with their decisions and receipts",
    tenant: "deployment",
    size: 256 * 1024 * 1024,
    hint: "ask for fewer and smaller plans, or ask who runs the platform for a larger budget",
  }),
  "deployment-join-tokens": limit({
    what: "live join tokens",
    tenant: "deployment",
    size: 50,
    hint: REMOVE,
  }),
  "deployment-debug-sessions": rows({
    what: "debug sessions that have not ended",
    tenant: "deployment",
    size: 20,
    hint: REMOVE,
  }),
  "deployment-new-debug-sessions": hourly({
    what: "debug sessions that began within an hour, ended or not",
    tenant: "deployment",
    size: 60,
    hint: LATER,
  }),
  "group-session-file-bytes": rows({
    what: "bytes of debug sessions' files in the platform's own folder, a file 4096 at least",
    tenant: "deployment group",
    size: 1024 ** 3,
    hint: FILES,
  }),
  "deployment-resources": rows({
    what: "reported resources, of which the latest stay",
    tenant: "deployment",
    size: 500,
    hint: REPORT,
    drops: true,
  }),
  "deployment-inventory": rows({
    what: "observed objects",
    tenant: "deployment",
    size: 10_000,
    hint: REPORT,
  }),
  "deployment-inventory-scopes": rows({
    what: "lists of observed objects",
    tenant: "deployment",
    size: 1200,
    hint: REPORT,
  }),
  "deployment-report-bytes": rows({
    what: "bytes of reported resources and observed objects, as stored",
    tenant: "deployment",
    size: 16 * 1024 * 1024,
    hint: REPORT,
  }),
  "deployment-told-bytes": hourly({
    what: "bytes of resources and observed objects that reports tell within an hour, given back evenly; 4096 at least, of a report that is refused too, and none of one that confirms",
    tenant: "deployment",
    // Everything that may be stored, twice an hour: so often a reporter tells all of it.
    size: 32 * 1024 * 1024,
    hint: LATER,
  }),
  "deployment-commands": hourly({
    what: "commands that were made by other ways than a plan within an hour",
    tenant: "deployment",
    size: 1000,
    hint: LATER,
  }),
  "deployment-command-bytes": rows({
    what: "bytes of params and results of commands, kept 90 days, of a plan 400; a plan's may go beyond it",
    tenant: "deployment",
    size: 64 * 1024 * 1024,
    hint: "send smaller params, or ask who runs the platform for a larger budget",
  }),
  "deployment-machines": rows({
    what: "machines that are not removed",
    tenant: "deployment",
    // As many as a Kubernetes cluster has nodes.
    size: 5000,
    hint: "remove machines that are gone, or ask who runs the platform for a larger budget",
  }),
  "deployment-machine-bytes": rows({
    what: "bytes of what was reported of machines that are not removed",
    tenant: "deployment",
    size: 8 * 1024 * 1024,
    hint: "report less of each machine, or remove machines that are gone",
  }),
  "manager-acquires": rows({
    what: "answers of sync/acquire that are kept for an hour, for a repeat",
    tenant: "manager",
    size: 1000,
    hint: LATER,
    drops: true,
  }),
  "deployment-progress-events": hourly({
    what: "events of progress that were reported within an hour",
    tenant: "deployment",
    size: 600,
    hint: LATER,
    drops: true,
  }),
  "deployment-report-events": hourly({
    what: "events of releases and failures that were reported within an hour",
    tenant: "deployment",
    size: 600,
    hint: LATER,
    drops: true,
  }),
  "deployment-request-events": hourly({
    what: "events that requests of the customer's tokens caused within an hour",
    tenant: "deployment",
    size: 600,
    hint: LATER,
  }),
  "relay-seats": seats({
    what: "debug sessions that meet in this process",
    tenant: "process",
    size: 1000,
    hint: LATER,
  }),
  "workspace-relay-seats": seats({
    what: "debug sessions that meet in this process",
    tenant: "workspace",
    size: 200,
    hint: LATER,
  }),
  "group-relay-seats": seats({
    what: "debug sessions that meet in this process",
    tenant: "deployment group",
    size: 40,
    hint: LATER,
  }),
  "deployment-relay-seats": seats({
    what: "debug sessions that meet in this process",
    tenant: "deployment",
    size: 10,
    hint: LATER,
  }),
  "manager-work-feeds": seats({
    what: "work feeds that are held open",
    tenant: "manager",
    size: 8,
    hint: LATER,
  }),
  uploads: seats({
    what: "uploads into the platform's own folder",
    tenant: "process",
    size: 64,
    hint: LATER,
  }),
  "project-uploads": seats({
    what: "uploads of plugins",
    tenant: "project",
    size: 4,
    hint: LATER,
  }),
  "group-uploads": seats({
    what: "uploads of debug sessions' files",
    tenant: "deployment group",
    size: 4,
    hint: LATER,
  }),
  "object-uploads": seats({
    what: "uploads to one address",
    tenant: "address",
    size: 1,
    hint: LATER,
  }),
} as const satisfies Readonly<Record<string, Budget>>;
