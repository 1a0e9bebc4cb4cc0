import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { runs } from "../../src/base/testing/runs.ts";
import { type PluginRule, rulesIssues } from "../../src/plugins/rules.ts";
import { TIERS, type Tier } from "../../src/plugins/words.ts";
import { CHART, useHelm } from "./use-helm.ts";

const helm = useHelm();

/** Kinds on both sides of each row of the table. */
const KINDS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "",
    [
      "pods",
      "secrets",
      "secretstores",
      "serviceaccounts",
      "nodes",
      "services",
      "persistentvolumeclaims",
      "events",
      "limitranges",
    ],
  ],
  ["apps", ["deployments", "replicasets", "controllerrevisions", "services"]],
  ["batch", ["jobs", "pods"]],
  ["policy", ["poddisruptionbudgets"]],
  ["networking.k8s.io", ["ingresses", "networkpolicies", "ingressclasses"]],
  ["gateway.networking.k8s.io", ["httproutes"]],
  ["discovery.k8s.io", ["endpointslices"]],
  ["coordination.k8s.io", ["leases"]],
  ["cluster.x-k8s.io", ["machines"]],
  ["example.com", ["widgets", "networkpolicies"]],
]);
const PARTS = ["", "/log", "/scale", "/status", "/exec", "/token"];
const WORDS = [...KINDS.values()].flat().flatMap((each) => PARTS.map((part) => `${each}${part}`));
const GROUPS = [
  ...KINDS.keys(),
  ...["xsallyport.dev", "sallyport.dev", "rbac.authorization.k8s.io", "authentication.k8s.io"],
];
const VERBS = ["get", "list", "create", "patch", "delete"] as const;

interface Judged {
  readonly tier: Tier;
  readonly rules: readonly PluginRule[];
}

const EACH_RIGHT: readonly Judged[] = [...KINDS].flatMap(([group, kinds]) =>
  kinds.flatMap((kind) =>
    PARTS.flatMap((part) => {
      const alone = (tier: Tier, verb: (typeof VERBS)[number]): Judged => ({
        tier,
        rules: [{ apiGroups: [group], resources: [`${kind}${part}`], verbs: [verb] }],
      });
      return [...VERBS.map((verb) => alone("destructive", verb)), alone("mutating", "delete")];
    }),
  ),
);

function some<const T>(...from: readonly T[]): fc.Arbitrary<T[]> {
  return fc.uniqueArray(fc.constantFrom(...from), { minLength: 1, maxLength: 3 });
}
const RULE = fc.record({ apiGroups: some(...GROUPS), resources: some(...WORDS), verbs: some(...VERBS) });
const OPERATION: fc.Arbitrary<Judged> = fc.record({
  tier: fc.constantFrom(...TIERS),
  rules: fc.array(RULE, { minLength: 1, maxLength: 4 }),
});

/** What the command line, the platform and the operator say: one sentence a right. */
function sentences({ tier, rules }: Judged): readonly string[] {
  return rules
    .flatMap((rule) => rule.verbs.map((verb) => ({ ...rule, verbs: [verb] })))
    .flatMap((rule) => rulesIssues([rule], { tier, path: "" }).map(({ message }) => message));
}

/** A chart that has of ours only what judges rules. */
const PRINTS = `said:
{{- range .Values.operations }}
- {{ include "sallyport.pluginRefusal" (include "sallyport.pluginRights" .) | quote }}
{{- end }}
`;

test("the chart judges each right as all others do, alone and among others, in the same words", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-rules-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "templates"));
  await writeFile(join(folder, "Chart.yaml"), "apiVersion: v2\nname: judge\nversion: 1.0.0\n");
  await writeFile(join(folder, "templates/said.yaml"), PRINTS);
  for (const name of ["_plugins.tpl", "_plugin-rules.tpl"])
    await cp(join(CHART, "templates", name), join(folder, "templates", name));
  const seed = Date.now();
  const operations = [...EACH_RIGHT, ...fc.sample(OPERATION, { seed, numRuns: runs(150) })];
  const values = join(folder, "values.json");
  await writeFile(values, JSON.stringify({ operations }));
  const { stdout, stderr } = await helm.run(["template", "judge", folder, "--values", values]);
  expect(stderr).toBe("");
  const { said }: { readonly said: readonly string[] } = parse(stdout);
  expect(said).toHaveLength(operations.length);
  const different = operations.flatMap((operation, at) => {
    const ours = sentences(operation);
    const theirs = said[at] ?? "none";
    // Of several the chart says one.
    const isSame = ours.length === 0 ? theirs === "" : ours.includes(theirs);
    return isSame ? [] : [{ seed, operation, ours, theirs }];
  });
  expect(different).toEqual([]);
  expect(said.filter((each) => each !== "").length).toBeGreaterThan(100);
  expect(said.filter((each) => each === "").length).toBeGreaterThan(100);
});
