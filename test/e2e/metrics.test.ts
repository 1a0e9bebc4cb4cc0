import { expect, test } from "vitest";
import { CLUSTER_RULES } from "../../scripts/generate/monitoring/cluster-rules.ts";
import { metricCatalogue, seriesNames } from "../../scripts/generate/monitoring/metric-catalogue.ts";
import { metricsIn } from "../chart/promql-names.ts";
import { useCast } from "./cast.ts";

const cast = useCast();

test("what the chart's rules ask for is in a scrape of the real pods", async () => {
  const text = (await cast().scrape("agent")) + (await cast().scrape("operator"));
  const scraped = new Set([...text.matchAll(/^([\w:]+)[{ ]/gm)].map(([, name]) => name));
  const recorded = new Set(CLUSTER_RULES.flatMap(({ recordings = [] }) => recordings.map(({ record }) => record)));
  const rules = CLUSTER_RULES.flatMap(({ recordings = [], alerts = [] }) => [...recordings, ...alerts]);
  // Prometheus itself makes `up`. Other metrics that are not ours appear in none of our scrapes.
  const ours = new Set(rules.flatMap(({ expr }) => metricsIn(expr)).filter((name) => name.startsWith("sallyport_")));
  expect(ours.size).toBeGreaterThan(20);
  // This installation has neither debug sessions nor machines; test/integration/metrics.test.ts has their processes.
  const notHere = (await metricCatalogue()).filter(
    ({ components }) => !components.some((each) => each === "agent" || each === "operator"),
  );
  const elsewhere = new Set([...recorded, ...notHere.flatMap(seriesNames)]);
  expect([...ours].filter((name) => !scraped.has(name) && !elsewhere.has(name))).toEqual([]);
});
