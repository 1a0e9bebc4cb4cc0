import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { installation } from "../../../src/crds/manifests/installation.ts";
import { type Case, expand, Replay, type Suite } from "./replay.ts";

const suite = JSON.parse(readFileSync(join(import.meta.dirname, "cases.json"), "utf8")) as Suite;
const cluster = useCluster({ controllers: true });
let replay: Replay;

beforeAll(async () => {
  const { crds, rbac, policies } = installation();
  await cluster().apply([...crds, ...rbac, ...policies]);
  await cluster().apply(expand(suite.fixtures, suite.namespaces) as Record<string, unknown>[]);
  replay = new Replay(cluster(), suite);
  await policiesInForce();
});

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
  test("has all of its cases here", () => {
    expect(suite.cases).toHaveLength(267);
    expect(new Set(suite.cases.map(({ id }) => id)).size).toBe(267);
  });

  const isolated = ({ steps }: Case): boolean => /admissionpolic|clusterrolebinding/i.test(JSON.stringify(steps));
  const row = (testCase: Case) => [testCase.id, testCase.title, testCase] as const;

  // At the same time: most of a case's time is the start of kubectl.
  test.concurrent.each(suite.cases.filter((testCase) => !isolated(testCase)).map(row))("%s %s", holds);

  // One after the other: each removes an admission policy, or gives the operator every right, for a while.
  test.each(suite.cases.filter(isolated).map(row))("%s %s", holds);
});

async function holds(_id: string, _title: string, testCase: Case): Promise<void> {
  expect(await replay.run(testCase)).toBeUndefined();
}
