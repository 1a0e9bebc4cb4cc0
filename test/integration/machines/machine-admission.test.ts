import { beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { INSTALLED, WITH_MACHINES } from "../../world/installation.ts";
import { MACHINE_ATTACKS } from "../admission/machine-attacks.ts";
import { MACHINE_PASSAGES } from "../admission/machine-passages.ts";
import { setMachineScene } from "../admission/machine-scene.ts";
import { APPROVER, JOIN, ours, type Who } from "../admission/machine-writes.ts";
import { inForce, testPassages, testRefusals, useTyping } from "../attacks.ts";

// None of our processes runs. An attacker has the credentials of one account and types any command.

const cluster = useCluster({ holds: WITH_MACHINES });
const kubeconfigs: Partial<Record<Who, string>> = {};
const attacked = { cluster, kubeconfigs };
const typing = useTyping<Who>(attacked);

beforeAll(async () => {
  await cluster().apply([...INSTALLED]);
  Object.assign(kubeconfigs, await setMachineScene(cluster()));
  await inForce(MACHINE_ATTACKS, typing);
});

testRefusals(MACHINE_ATTACKS, attacked, typing);

describe("let through", () => {
  testPassages(MACHINE_PASSAGES, typing);

  test("the API server writes the name of who lets a machine in", async () => {
    const line = ours("mjoin", JOIN, { spec: { approved: true } }, "-o", "jsonpath={.spec.approvedBy}");
    expect((await typing.run({ as: "approver", args: line })).stdout).toBe(APPROVER);
  });
});
