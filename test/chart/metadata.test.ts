import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { CONVENTIONS } from "../../scripts/generate/chart/chart-conventions.ts";
import { CHART } from "./use-helm.ts";

const chart = parse(readFileSync(join(CHART, "Chart.yaml"), "utf8"));

test("Chart.yaml says where the chart comes from, who maintains it and for which servers it is", () => {
  expect(chart).toMatchObject({ home: expect.stringMatching(/^https:/), kubeVersion: expect.stringMatching(/^>=/) });
  expect(chart.sources[0]).toMatch(/^https:/);
  expect(chart.maintainers).toEqual([{ name: "Sallyport", url: chart.home }]);
  expect(existsSync(join(CHART, basename(chart.icon)))).toBe(true);
});

test("its annotations list kinds, images and the changes of this version, as the changelog does", () => {
  const read = (name: string): readonly Record<string, string>[] => parse(chart.annotations[`artifacthub.io/${name}`]);
  expect(read("crds").map(({ kind }) => kind)).toContain("AccessGrant");
  expect(read("images")).toEqual([{ name: "sallyport", image: `sallyport/sallyport:${chart.version}` }]);
  const changelog = readFileSync(join(CHART, "CHANGELOG.md"), "utf8");
  const [first = ""] = changelog.split("\n## ").slice(1);
  expect(first.split("\n")[0]).toBe(chart.version);
  expect(read("changes").length).toBeGreaterThan(0);
  for (const { kind, description } of read("changes")) expect(first).toContain(`- ${kind}: ${description}.`);
});

test("each test that the README's table of conventions names exists", () => {
  const root = join(import.meta.dirname, "../..");
  expect(CONVENTIONS).toHaveLength(30);
  const missing = CONVENTIONS.flatMap(({ tests }) => tests).filter(
    ([file, name]) => !readFileSync(join(root, `${file}.test.ts`), "utf8").includes(`"${name}"`),
  );
  expect(missing).toEqual([]);
});
