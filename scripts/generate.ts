import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import type { SettingTable } from "../src/base/settings.ts";
import { platformService } from "../src/cli/platform/platform-service.ts";
import { agentService } from "../src/cli/services/agent-service.ts";
import { LOG_SETTINGS } from "../src/cli/services/log-settings.ts";
import { operatorService } from "../src/cli/services/operator-service.ts";
import { tunnelService } from "../src/cli/services/tunnel-service.ts";
import type { Manifest } from "../src/crds/manifest.ts";
import { defaultPolicy } from "../src/crds/manifests/default-policy.ts";
import {
  checkMetricsReaders,
  installation,
  openAllToObservation,
  openCluster,
  openDebugSessions,
  openMachines,
  openNodes,
  openReleases,
  redactNames,
} from "../src/crds/manifests/installation.ts";
import { installerRoles } from "../src/crds/manifests/roles/installer-roles.ts";
import { chartFiles } from "./generate/chart/chart.ts";
import { platformPage } from "./generate/docs/budgets.ts";
import { errorsPage } from "./generate/docs/errors.ts";
import { managementApiPage } from "./generate/docs/operations.ts";
import { permissionsPage } from "./generate/docs/permissions.ts";
import { egressPage } from "./generate/egress/egress.ts";
import { monitoringFiles } from "./generate/monitoring/monitoring.ts";
import { importRules } from "./generate/rooms/import-rules.ts";
import { roomsPage } from "./generate/rooms/rooms-page.ts";
import { readOptions } from "./running/options.ts";

const root = join(import.meta.dirname, "..");
const HELP = `usage: npm run generate [-- --check]

Writes the files that are made from the code: crds/*.yaml, deploy/manifests/*.yaml, the chart's generated files, alerting
rules, dashboards, pages of docs/ and the lint rules of imports.

  --check  writes nothing, and fails when one of them is not what the code says
  --help   this text
`;
const script = { name: "npm run generate", help: HELP };
const { values } = readOptions(script, { check: { type: "boolean", default: false } });

function text(manifests: readonly Manifest[]): string {
  const head = "# Made by `npm run generate` from src/crds. Do not edit.\n";
  const documents = manifests.map((manifest) => stringify(manifest, { lineWidth: 120, aliasDuplicateObjects: false }));
  return head + documents.map((document) => `---\n${document}`).join("");
}

function settingsPage(): string {
  const services = {
    agent: agentService,
    operator: operatorService,
    tunnel: tunnelService,
    platform: platformService,
  };
  const sections = Object.entries(services).map(
    ([name, { settings }]) => `## sallyport ${name}\n\n${settingsTable(settings)}`,
  );
  return `${[
    "<!-- Made by `npm run generate` from the tables that the processes read. Do not edit. -->",
    "# Configuration",
    "By environment variable, or in a YAML file with the same names as keys (`--config FILE`); the environment wins. A\nname that is not in the table is refused, and all problems are told at once.",
    ...sections,
    "## The log of all of them\n\nTo standard output.",
    settingsTable(LOG_SETTINGS),
  ].join("\n\n")}\n`;
}

function settingsTable(settings: SettingTable): string {
  const cell = (value: string | undefined): string =>
    value === undefined ? "must be set" : value === "" ? "none" : `\`${value}\``;
  const rows = Object.values(settings).map(
    ({ env, default: value, doc }) => `| \`${env}\` | ${cell(value)} | ${doc} |`,
  );
  return ["| Setting | Default | Meaning |", "|---|---|---|", ...rows].join("\n");
}

const { crds, rbac, policies } = installation();
const files = new Map<string, string>([
  ...crds.map((crd): [string, string] => [`crds/${crd.metadata.name}.yaml`, text([crd])]),
  ["deploy/manifests/rbac.yaml", text(rbac)],
  ["deploy/manifests/cluster-operations.yaml", text(openCluster())],
  ["deploy/manifests/debug-sessions.yaml", text(openDebugSessions())],
  ["deploy/manifests/machines.yaml", text(openMachines())],
  ["deploy/manifests/releases.yaml", text(openReleases())],
  ["deploy/manifests/observe-cluster.yaml", text(openAllToObservation())],
  ["deploy/manifests/observe-nodes.yaml", text(openNodes())],
  ["deploy/manifests/redact-names.yaml", text(redactNames())],
  ["deploy/manifests/metrics-auth.yaml", text(checkMetricsReaders())],
  ["deploy/manifests/installer.yaml", text(installerRoles())],
  ["deploy/manifests/policies.yaml", text(policies)],
  ["deploy/manifests/default-policy.yaml", text([defaultPolicy()])],
  ["docs/configuration.md", settingsPage()],
  ["docs/permissions.md", permissionsPage()],
  ["docs/platform.md", platformPage(root)],
  ["docs/management-api.md", managementApiPage(root)],
  ["docs/api-rules/26-errors.md", errorsPage(root)],
  ["docs/data-that-leaves.md", egressPage()],
  ["docs/contributing.md", roomsPage(root)],
  ["biome.rooms.json", importRules(root)],
  ...chartFiles(root),
  ...(await monitoringFiles()),
]);

function current(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    return undefined; // The file does not exist yet: different, like any other stale file.
  }
}

function surplus(): string[] {
  return ["crds", "deploy/manifests"]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { withFileTypes: true }).map(({ name }) => `${folder}/${name}`),
    )
    .filter((path) => path.endsWith(".yaml") && !files.has(path));
}

if (values.check) {
  const stale = [
    ...[...files].filter(([path, wanted]) => current(path) !== wanted).map(([path]) => path),
    ...surplus(),
  ];
  for (const path of stale) console.error(`${path} is not what the code says: run npm run generate`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const [path, wanted] of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), wanted);
  }
  for (const path of surplus()) rmSync(join(root, path));
}
