import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { objectName } from "../../../src/crds/group.ts";
import { type DebugSession, debugSessions } from "../../../src/crds/kinds/debug-session.ts";
import { WITH_DEBUG } from "../../world/installation.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { signal } from "../../world/wait.ts";
import { DEBUG_ATTACKS, DEBUG_PASSAGES } from "../admission/debug-attacks.ts";
import { setDebugScene } from "../admission/debug-scene.ts";
import { ACCOUNT, OPEN, PENDING, patched, status, type Who } from "../admission/debug-writes.ts";
import { inForce, testPassages, testRefusals, useTyping } from "../attacks.ts";
import { OperatorWorld } from "../operator/operator-world.ts";
import { DEBUG_NAMESPACE, ONCALL } from "./debug-world.ts";

// Neither operator nor tunnel runs. An attacker has the credentials of one account and types any command.

const cluster = useCluster({ holds: WITH_DEBUG });
let world: OperatorWorld;
const kubeconfigs: Partial<Record<Who, string>> = {};
const attacked = { cluster, kubeconfigs };
const typing = useTyping<Who>(attacked);

beforeAll(async () => {
  world = await OperatorWorld.create(cluster());
  Object.assign(kubeconfigs, await setDebugScene(cluster(), world));
  await inForce(DEBUG_ATTACKS, typing);
});
afterAll(() => world?.close());

testRefusals(DEBUG_ATTACKS, attacked, typing);

describe("let through", () => {
  testPassages(DEBUG_PASSAGES, typing);

  test("a person on call ends a session, and the API server writes their name", async () => {
    const kubeconfig = kubeconfigs.oncall ?? "";
    const args = [
      "patch",
      "dbg",
      objectName(PENDING),
      "-n",
      GRANTS,
      "--type=merge",
      "-p",
      '{"spec":{"endedReason":"enough"}}',
    ];
    expect((await cluster().kubectl(args, { kubeconfig })).stderr).toBe("");
    const key = { namespace: GRANTS, name: objectName(PENDING) };
    const ended = await world.admin.get<DebugSession>(debugSessions, key, signal());
    expect(ended?.spec).toMatchObject({ endedReason: "enough", endedBy: ONCALL });
  });

  test("the operator mints no token of a session, and neither the tunnel nor the agent ends or deletes one", async () => {
    const tries: readonly (readonly [Who, readonly string[]])[] = [
      ["operator", ["create", "token", ACCOUNT, "-n", DEBUG_NAMESPACE]],
      ["operator", patched(OPEN, { spec: { endedReason: "x" } })],
      ["tunnel", patched(OPEN, { spec: { endedReason: "x" } })],
      ["agent", patched(OPEN, { spec: { endedReason: "x" } })],
      ["agent", status(OPEN, { tunnel: { instance: "a" } })],
      ["tunnel", ["delete", "dbg", objectName(OPEN), "-n", GRANTS]],
      ["agent", ["delete", "dbg", objectName(OPEN), "-n", GRANTS]],
      ["tunnel", ["get", "pods", "-n", SHOP]],
      ["tunnel", ["get", "serviceaccounts", "-n", DEBUG_NAMESPACE]],
    ];
    for (const [as, args] of tries) expect((await typing.run({ as, args })).stderr).toContain("orbidden");
  });
});
