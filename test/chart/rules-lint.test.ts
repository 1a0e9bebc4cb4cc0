import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { pintProgram, runPint } from "./pint.ts";

const ROOT = join(import.meta.dirname, "../..");
const FILES = [
  join(ROOT, "deploy/helm/sallyport/files/alerts.yaml"),
  join(ROOT, "deploy/monitoring/platform-alerts.yaml"),
];
let program = "";
let folder = "";

beforeAll(async () => {
  program = await pintProgram((line) => process.stderr.write(`${line}\n`), new AbortController().signal);
  folder = await mkdtemp(join(tmpdir(), "sallyport-pint-"));
}, 900_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** pint's problems, each with its check and the line it is about. */
async function problems(file: string): Promise<readonly { readonly check: string; readonly about: string }[]> {
  const { output } = await runPint(program, [file], folder);
  if (!output.includes("Finding all rules to check")) throw new Error(output);
  const found = output.matchAll(/^\S+:[\d-]+ (?:Warning|Bug|Fatal): .* \(([\w/]+)\)\n(.*)$/gm);
  return [...found].map(([, check = "", about = ""]) => ({ check, about }));
}

test.each(FILES)("%s: pint finds nothing wrong", async (file) => {
  await copyFile(file, join(folder, basename(file)));
  const found = await problems(basename(file));
  // It takes `count(…) unless count(…)` for a query that always has a result; alert-cases.ts shows that it has not.
  const wrong = found.filter(
    ({ check, about }) => check !== "alerts/comparison" || !/ unless .* or absent_/.test(about),
  );
  expect(wrong).toEqual([]);
});

const RIGHT = {
  alert: "SallyportRight",
  expr: "sum by (cluster, namespace) (rate(sallyport_sweeps_total[5m])) > 0",
  for: "5m",
  labels: { severity: "info" },
  annotations: {
    summary: "{{ $labels.namespace }}",
    description: "It is {{ $value }}.",
    runbook_url: "https://sallyport.dev/docs/runbooks/SallyportRight.md",
  },
};

test.each<readonly [string, object]>([
  ["nothing", {}],
  ["promql/syntax", { expr: "sum(sallyport_sweeps_total" }],
  ["promql/aggregate", { expr: "sum by (namespace) (rate(sallyport_sweeps_total[5m])) > 0" }],
  ["promql/regexp", { expr: 'sallyport_sweeps_total{result=~"ok"} > 0' }],
  ["alerts/comparison", { expr: "sallyport_sweeps_total" }],
  ["alerts/template", { annotations: { ...RIGHT.annotations, summary: "{{ $labels.pod }}" } }],
  ["alerts/template", { expr: "absent(sallyport_sweeps_total)" }],
  ["alerts/annotation", { annotations: { ...RIGHT.annotations, runbook_url: "https://example.com" } }],
  ["rule/label", { labels: { severity: "page" } }],
])("it does look: of a rule that breaks %s it says so, %j", async (check, change) => {
  await writeFile(
    join(folder, "rule.yaml"),
    stringify({ groups: [{ name: "one", rules: [{ ...RIGHT, ...change }] }] }, { lineWidth: 0 }),
  );
  const found = new Set((await problems("rule.yaml")).map((each) => each.check));
  expect([...found]).toEqual(check === "nothing" ? [] : [check]);
});
