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

/** An installed policy is enforced 0.5 to 3 s later; until both halves are, a case would tell of the wrong thing. */
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

  // Side by side: most of a case is kubectl starting.
  test.concurrent.each(suite.cases.filter((testCase) => !isolated(testCase)).map(row))("%s %s", holds);

  // One after the other: these take an admission policy away, or give the operator every right, for a while.
  test.each(suite.cases.filter(isolated).map(row))("%s %s", holds);
});

async function holds(_id: string, _title: string, testCase: Case): Promise<void> {
  expect(await replay.run(testCase)).toBeUndefined();
}
