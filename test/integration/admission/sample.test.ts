import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { MUTATING_POLICIES, VALIDATING_POLICIES } from "../../../src/crds/manifests/admission/admission.ts";
import {
  DEBUG_MUTATING_POLICIES,
  DEBUG_VALIDATING_POLICIES,
} from "../../../src/crds/manifests/admission/debug-admission.ts";
import {
  MACHINE_MUTATING_POLICIES,
  MACHINE_VALIDATING_POLICIES,
} from "../../../src/crds/manifests/admission/machine-admission.ts";
import {
  RELEASE_STAMPING_POLICIES,
  releasePolicyNames,
} from "../../../src/crds/manifests/admission/release-admission.ts";
import {
  installation,
  openDebugSessions,
  openMachines,
  openReleases,
} from "../../../src/crds/manifests/installation.ts";
import { INSTALLED } from "../../world/installation.ts";
import { eventually } from "../../world/wait.ts";
import { type Case, expand, Replay } from "../access-grants/replay.ts";
import { readSuite } from "../access-grants/suite.ts";
import { type Attack, expectPassage, removeBinding, type Try } from "../attacks.ts";
import { OperatorWorld } from "../operator/operator-world.ts";
import { useTerminal } from "../typed/terminal.ts";
import { judged, judgesOf } from "./judges.ts";
import { RELEASES, TABLES, type Table } from "./sample-tables.ts";

// Of each admission policy the first case of the full tables that it refuses, and the first that it lets through.

const POLICIES = [
  ...installation().policies,
  ...openDebugSessions(),
  ...openReleases(undefined, RELEASES),
  ...openMachines(),
];
const namesOf = (kind: string): string[] =>
  POLICIES.filter((policy) => policy.kind === kind).map(({ metadata }) => metadata.name);
const suite = readSuite();
const cluster = useCluster({ holds: INSTALLED });
const terminal = useTerminal(cluster);
const kubeconfigs = new Map<Table, Readonly<Record<string, string>>>();
let world: OperatorWorld;
let replay: Replay;

beforeAll(async () => {
  world = await OperatorWorld.create(cluster());
  for (const table of TABLES) kubeconfigs.set(table, await table.setScene(cluster(), world));
  await cluster().apply(expand(suite.fixtures, suite.namespaces) as Record<string, unknown>[]);
  await cluster().apply(judgesOf(POLICIES));
  replay = new Replay(cluster(), suite);
});
afterAll(async () => {
  replay?.[Symbol.dispose]();
  await world?.close();
});

/** A case of a policy. */
interface Sample {
  readonly title: string;
  readonly hold: () => Promise<void>;
}

function refusedBy(policy: string): Sample | undefined {
  for (const table of TABLES) {
    const attack = table.attacks.find((each) => each.policy === policy && each.unless === undefined);
    if (attack !== undefined) return sample(attack.title, () => expectRefusal(table, attack));
  }
  const found = suite.cases.find(({ steps }) => steps.some((step) => step.policy === policy));
  return found && sample(`${found.id} ${found.title}`, () => expectCase(found));
}

function letThroughBy(policy: string): Sample | undefined {
  for (const table of TABLES) {
    const passage = table.passages.find(({ passes = [] }) => passes.includes(policy));
    if (passage !== undefined) {
      return sample(passage.title, async () => {
        const result = await type(table, passage);
        expectPassage(passage, result);
        expect(result.stderr).toContain(judged(policy));
      });
    }
  }
  const found = suite.cases.find(({ passes = [] }) => passes.includes(policy));
  return (
    found &&
    sample(`${found.id} ${found.title}`, () =>
      expectCase({ ...found, messageContains: [...[found.messageContains ?? []].flat(), judged(policy)] }),
    )
  );
}

function stampedBy(policy: string): Sample | undefined {
  for (const table of TABLES) {
    const stamp = table.stamps.find((each) => each.policy === policy);
    if (stamp === undefined) continue;
    const { field, person } = stamp;
    return sample(`${field} is ${person}`, async () => {
      await eventually(
        () => type(table, stamp, "-o", "json"),
        ({ stdout }) => stdout.includes(`"${field}": "${person}"`),
      );
    });
  }
  const found = suite.cases.find(({ passes = [] }) => passes.includes(policy));
  return found && sample(`${found.id} ${found.title}`, () => expectCase(found));
}

describe.each(namesOf("ValidatingAdmissionPolicy"))("%s", (policy) => {
  const [refused, passed] = [refusedBy(policy), letThroughBy(policy)];
  test("has a case that it refuses and one that it lets through", () => {
    expect(refused, `no case that ${policy} refuses`).toBeDefined();
    expect(passed, `no case that ${policy} lets through`).toBeDefined();
  });
  if (refused) test(`refuses: ${refused.title}`, refused.hold);
  if (passed) test(`lets through: ${passed.title}`, passed.hold);
});

describe.each(namesOf("MutatingAdmissionPolicy"))("%s", (policy) => {
  const stamped = stampedBy(policy);
  test("has a case", () => expect(stamped, `no case in which ${policy} writes a name`).toBeDefined());
  if (stamped) test(`writes the name of who decides: ${stamped.title}`, stamped.hold);
});

const LOOKED_FOR: readonly string[] = [
  ...[...VALIDATING_POLICIES, ...MUTATING_POLICIES],
  ...[...DEBUG_VALIDATING_POLICIES, ...DEBUG_MUTATING_POLICIES],
  ...[...releasePolicyNames(true), ...RELEASE_STAMPING_POLICIES],
  ...[...MACHINE_VALIDATING_POLICIES, ...MACHINE_MUTATING_POLICIES],
];

test("the installation has every policy that the operator looks for", () => {
  expect(POLICIES.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining([...LOOKED_FOR]));
});

function sample(title: string, hold: () => Promise<void>): Sample {
  return { title, hold };
}

function type(table: Table, { as, args, stdin }: Try<string>, ...more: string[]) {
  const kubeconfig = kubeconfigs.get(table)?.[as];
  if (kubeconfig === undefined) throw new Error(`no credentials of ${as}`);
  const words = typeof args === "function" ? args() : args;
  return terminal.type(kubeconfig, [...words, ...more], stdin && JSON.stringify(stdin()));
}

async function expectRefusal(table: Table, attack: Attack<string>): Promise<void> {
  const { policy, words, without } = attack;
  const bringBack = without && (await removeBinding(cluster(), without, "Mutating"));
  try {
    const { code, stderr } = await eventually(
      () => type(table, attack),
      (result) => without === undefined || result.code !== 0,
    );
    expect(stderr).toContain(`ValidatingAdmissionPolicy '${policy}'`);
    expect(stderr).toContain(words);
    expect(code).not.toBe(0);
  } finally {
    if (bringBack) {
      await bringBack();
      await eventually(
        () => type(table, attack),
        (result) => result.code === 0,
      );
    }
  }
}

let runs = 0;

/** Its objects are named after its id, and one case may be that of two policies. */
async function expectCase(testCase: Case): Promise<void> {
  runs += 1;
  expect(await replay.run({ ...testCase, id: `${testCase.id}-${runs}` })).toBeUndefined();
}
