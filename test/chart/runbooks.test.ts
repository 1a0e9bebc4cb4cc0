import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { CLUSTER_RULES } from "../../scripts/generate/monitoring/cluster-rules.ts";
import { metricCatalogue, seriesNames } from "../../scripts/generate/monitoring/metric-catalogue.ts";
import { PLATFORM_RULES } from "../../scripts/generate/monitoring/platform-rules.ts";
import { runbookFile } from "../../scripts/generate/monitoring/rule.ts";
import { REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

const FOLDER = join(import.meta.dirname, "../../docs/runbooks");
const files = readdirSync(FOLDER);
const alerts = [...CLUSTER_RULES, ...PLATFORM_RULES].flatMap((group) => group.alerts ?? []);
const pages = files.map((file) => ({ file, text: readFileSync(join(FOLDER, file), "utf8") }));
const commands = pages.flatMap(({ file, text }) =>
  [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) =>
    block
      .replaceAll("\\\n", " ")
      .split("\n")
      .filter((line) => line.includes("kubectl "))
      .map((line) => ({ file, line })),
  ),
);

test("each alert has a page, each page an alert", () => {
  expect([...files].sort()).toEqual(alerts.map(runbookFile).sort());
});

test.each(pages)(
  "$file says meaning, impact, diagnosis and mitigation, and its links lead somewhere",
  ({ file, text }) => {
    expect([...text.matchAll(/^##? (.*)$/gm)].map(([, title]) => title)).toEqual([
      file.replace(/\.md$/, ""),
      "Meaning",
      "Impact",
      "Diagnosis",
      "Mitigation",
    ]);
    expect(text).toMatch(/## Diagnosis\n\n```sh\n(kubectl|helm|curl|journalctl) /);
    for (const [, link = ""] of text.matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
      expect(existsSync(resolve(FOLDER, link)), `${file}: ${link}`).toBe(true);
    }
  },
);

test("the metrics that pages speak of are there", async () => {
  const known = new Set((await metricCatalogue()).flatMap((metric) => [metric.name, ...seriesNames(metric)]));
  for (const { file, text } of pages) {
    for (const [name] of text.matchAll(/\b(sallyport|workqueue|watch|nodejs|rest_client)_\w+/g)) {
      // A prefix in a grep.
      if (name !== "sallyport_sweep") expect(known, `${file}: ${name}`).toContain(name);
    }
  }
});

describe("kubectl lines name what the chart installs:", () => {
  const helm = useHelm();
  let objects: readonly Rendered[] = [];
  beforeAll(async () => {
    const machines = {
      machines: { enabled: true },
      join: { url: "https://join.customer.example:8443", apiServer: "https://10.0.0.10:6443" },
    };
    objects = await helm.render({ ...REQUIRED, namespaces: ["shop"], ...machines });
  });
  const named = (kind: string, name: string) =>
    objects.some((each) => each.kind === kind && each.metadata.name === name);

  test("namespaces", () => {
    for (const { file, line } of commands) {
      for (const [, namespace] of line.matchAll(/ -n (\S+)/g)) {
        expect(["sallyport-system", "sallyport-grants", "kube-node-lease"], `${file}: ${line}`).toContain(namespace);
      }
    }
  });

  test("Deployments, accounts, Secrets and kinds", () => {
    const kinds = [
      ...["pods", "leases", "events", "nodes", "crd", "secret", "networkpolicies", "servicemonitors", "podmonitors"],
      ...["rolebindings", "serviceaccounts", "validatingadmissionpolicies", "validatingadmissionpolicybindings"],
      ...["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"],
      ...objects.filter(({ kind }) => kind === "CustomResourceDefinition").map(({ spec }) => spec.names.plural),
    ];
    for (const { file, line } of commands) {
      const where = `${file}: ${line}`;
      for (const [, name = ""] of line.matchAll(/deploy\/([a-z-]+)/g))
        expect(named("Deployment", name), where).toBe(true);
      for (const [, name = ""] of line.matchAll(/system:serviceaccount:sallyport-system:([a-z-]+)/g)) {
        expect(named("ServiceAccount", name), where).toBe(true);
      }
      for (const [, name] of line.matchAll(/ secret (?:generic )?(sallyport[a-z-]*)/g)) {
        expect(name, where).toBe(REQUIRED.runtimeKey.existingSecret);
      }
      const [, asked = ""] = /kubectl(?: -n \S+)? get (?!--raw|deploy)(\S+)/.exec(line) ?? [];
      for (const kind of asked.split(",").filter((each) => each !== "")) expect(kinds, where).toContain(kind);
      for (const [, lease] of line.matchAll(/sallyport-system get leases (.*?)(?: -o.*)?$/g)) {
        expect(lease, where).toMatch(/^(sallyport-(agent|operator) ?)+$/);
      }
      for (const [, crd = ""] of line.matchAll(/\b(\w+\.sallyport\.dev)\b/g)) {
        expect(named("CustomResourceDefinition", crd), where).toBe(true);
      }
      for (const [, role = ""] of line.matchAll(/--clusterrole=(\S+)/g))
        expect(named("ClusterRole", role), where).toBe(true);
    }
  });

  test("labels", () => {
    const labels = objects
      .filter(({ kind }) => kind === "Deployment")
      .flatMap(({ spec }) => Object.entries(spec.template.metadata.labels).map(([key, value]) => `${key}=${value}`));
    for (const { file, line } of commands) {
      for (const [, selector] of line.matchAll(/ -l (\S+)/g)) {
        expect([...labels, "sallyport.dev/grant-uid", "sallyport.dev/debug-session"], `${file}: ${line}`).toContain(
          selector,
        );
      }
    }
  });
});
