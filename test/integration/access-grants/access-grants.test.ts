import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KUBERNETES_VERSIONS } from "../../../lab/cluster/kubernetes-versions.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { installation } from "../../../src/crds/manifests/installation.ts";
import { has, kubernetes, lackedByCases } from "../../versions/lacking.ts";
import { INSTALLED } from "../../world/installation.ts";
import { type Case, expand, Replay } from "./replay.ts";
import { readSuite } from "./suite.ts";

const suite = readSuite();
const cluster = useCluster({ controllers: true, holds: INSTALLED });
const stamps = has("stamping");
const lacked = lackedByCases();
let replay: Replay;

beforeAll(async () => {
  const { crds, rbac, policies } = installation(undefined, { stamps });
  await cluster().apply([...crds, ...rbac, ...policies]);
  await cluster().apply(expand(suite.fixtures, suite.namespaces) as Record<string, unknown>[]);
  replay = new Replay(cluster(), suite, { typesNames: !stamps });
  await policiesInForce();
});
afterAll(() => replay?.[Symbol.dispose]());

/**
 * The API server enforces a new policy 0.5 to 3 s later. Until all policies are in force, a case would fail for the
 * wrong reason.
 */
async function policiesInForce(): Promise<void> {
  const created = await replay.run({
    id: "probe",
    title: "",
    expect: "allowed",
    steps: [{ as: "agent", create: { use: "grant" } }],
  });
  expect(created).toBeUndefined();
  const approve = ["patch", "ag", "probe", "-n", suite.namespaces.grants, "--dry-run=server", "--type=merge", "-p"];
  const patch = { spec: { approvedForMinutes: 1 } };
  const problem = await replay.run({
    id: "probe2",
    title: "",
    expect: "allowed",
    steps: [
      {
        as: "mallory",
        kubectl: [...approve, patch],
        expect: "refused",
        messageContains: "may not approve",
        withinSeconds: 60,
      },
      {
        as: "alice",
        kubectl: [...approve, patch, "-o", "json"],
        messageContains: '"decidedBy": "alice"',
        withinSeconds: 60,
      },
    ],
  });
  expect(problem).toBeUndefined();
}

describe("the access grant contract", () => {
  test("is replayed on an API server that lacks what the table of versions says", async () => {
    const version = await cluster().request({ path: "/version" });
    expect(version.body).toMatchObject({ gitVersion: KUBERNETES_VERSIONS[kubernetes] });
    const admission = await cluster().request({ path: "/apis/admissionregistration.k8s.io/v1" });
    expect(JSON.stringify(admission.body).includes('"mutatingadmissionpolicies"')).toBe(stamps);
  });

  test("has all of its cases here", () => {
    expect(suite.cases).toHaveLength(267);
    expect(new Set(suite.cases.map(({ id }) => id)).size).toBe(267);
  });

  const isolated = ({ steps }: Case): boolean => /admissionpolic|clusterrolebinding/i.test(JSON.stringify(steps));
  const here = suite.cases.filter(({ id }) => !lacked.has(id));
  const row = (testCase: Case) => [testCase.id, testCase.title, testCase] as const;

  // At the same time: most of a case's time is spent waiting.
  test.concurrent.each(here.filter((testCase) => !isolated(testCase)).map(row))("%s %s", holds);

  // One after the other: each removes an admission policy, or gives the operator every right, for a while.
  test.each(here.filter(isolated).map(row))("%s %s", holds);

  const without = suite.cases.filter(({ id }) => lacked.has(id));
  test.skip.each(without.map((each) => [each.id, each.title, lacked.get(each.id)]))("%s %s: needs %s", () => undefined);
});

async function holds(_id: string, _title: string, testCase: Case): Promise<void> {
  expect(await replay.run(testCase)).toBeUndefined();
}
