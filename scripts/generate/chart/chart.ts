import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { GROUP, VERSION } from "../../../src/crds/group.ts";
import { KINDS } from "../../../src/crds/manifests/installation.ts";
import { CHART_CHANGES, changelog } from "./chart-changes.ts";
import { conventionsTable } from "./chart-conventions.ts";
import { chartTemplates } from "./chart-templates.ts";
import { chartValues } from "./chart-values.ts";
import { valuesSchema, valuesTable, valuesYaml } from "./chart-values-files.ts";

const CHART = "deploy/helm/sallyport";

/** The chart's generated files: metadata, values, their schema and table, and what comes from `src/crds`. */
export function chartFiles(root: string): ReadonlyMap<string, string> {
  const values = chartValues();
  const files = new Map([
    [`${CHART}/Chart.yaml`, chartYaml(version(root))],
    [`${CHART}/CHANGELOG.md`, changelog()],
    [`${CHART}/values.yaml`, valuesYaml(values)],
    [`${CHART}/values.schema.json`, valuesSchema(values)],
    [
      `${CHART}/README.md`,
      readFileSync(join(import.meta.dirname, "chart-readme.md"), "utf8")
        .replace("<!-- values -->", valuesTable(values))
        .replace("<!-- conventions -->", conventionsTable()),
    ],
  ]);
  for (const [name, text] of chartTemplates()) files.set(`${CHART}/templates/${name}`, text);
  return files;
}

/** Chart and image share the project's version. */
function chartYaml(version: string): string {
  const crds = KINDS.map(({ kind, plural, description }) => ({
    kind,
    version: VERSION,
    name: `${plural}.${GROUP}`,
    displayName: kind,
    description,
  }));
  const chart = {
    apiVersion: "v2",
    name: "sallyport",
    type: "application",
    description: "A gate with two doors: a vendor asks for an action in your cluster, you decide with kubectl.",
    version,
    appVersion: version,
    // ValidatingAdmissionPolicy is served since then; stamped names need 1.36, see the value admission.mode.
    kubeVersion: ">=1.30.0-0",
    keywords: ["operations", "access", "approval", "operator"],
    home: "https://sallyport.dev",
    icon: "https://sallyport.dev/deploy/helm/sallyport/icon.svg",
    sources: ["https://sallyport.dev/deploy/helm/sallyport"],
    maintainers: [{ name: "Sallyport", url: "https://sallyport.dev" }],
    annotations: {
      "artifacthub.io/category": "security",
      "artifacthub.io/operator": "true",
      "artifacthub.io/changes": stringify(CHART_CHANGES.find((each) => each.version === version)?.changes ?? []),
      "artifacthub.io/crds": stringify(crds),
      "artifacthub.io/images": stringify([{ name: "sallyport", image: `sallyport/sallyport:${version}` }]),
    },
  };
  return `# Made by \`npm run generate\`. Do not edit.\n${stringify(chart)}`;
}

function version(root: string): string {
  const content: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  if (typeof content === "object" && content !== null && "version" in content) return String(content.version);
  throw new Error("package.json has no version");
}
