import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { fateOf, healed, keyOf, WATCHED_MS, type Witness } from "../integration/rules-removed/consequences.ts";
import { RULES, removeRule } from "../integration/rules-removed/rule.ts";
import { SHOP, SYSTEM } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { isReady, soon, useCast } from "./cast.ts";
import { upgradeSallyport } from "./installation.ts";
import { kubectl } from "./kubectl.ts";

// Takes all rules of an account's roles, and its pods start without them. test/integration takes each rule in turn from
// running processes. Leases are left out: a process that may not renew ends on purpose, which is covered there as well.

const TAKEN = RULES.filter((rule) => !keyOf(rule).includes(" leases "));

const env = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([name, value]) => ({ name, value }));
/** A setting decides how late a missing rule is noticed; the tests use a short time in place of a minute. */
const PROMPT = {
  agent: { extraEnv: env({ SALLYPORT_ACCESS_CHECK_INTERVAL: "1s", SALLYPORT_HEARTBEAT_INTERVAL: "1s" }) },
  operator: { extraEnv: env({ SALLYPORT_ACCESS_CHECK_INTERVAL: "1s", SALLYPORT_ADMISSION_CHECK_INTERVAL: "2s" }) },
};

const cast = useCast();
let witness: Witness;
let approval = "";

beforeAll(async () => {
  await upgradeSallyport(cast().scene, PROMPT, soon());
  const scale = { namespace: SHOP, kind: "deployment", name: "web", replicas: 2 };
  const { id: pending, approve } = await cast().ask({
    command: "kubernetes/scale",
    summary: "waits all along",
    params: scale,
  });
  approval = approve;
  const { kube, scene } = cast();
  witness = {
    admin: kube,
    deploymentId: scene.vendor.deploymentId,
    pending,
    grant: (id, until) => cast().grant(id, until),
    command: (id, until) => cast().command(id, until),
  };
  await fateOf("runs", await invoke(), witness);
  await healed(witness);
});
afterAll(() => upgradeSallyport(cast().scene, {}, soon()));

describe.each(["agent", "operator"] as const)("pods of the %s", (holder) => {
  test("start without all of its rules and stay up, and work once they have them", async () => {
    const restores: (() => Promise<void>)[] = [];
    try {
      for (const rule of TAKEN.filter(({ role }) => role.holder === holder)) {
        restores.unshift(await removeRule(cast().kube, rule));
      }
      const selector = `app.kubernetes.io/component=${holder}`;
      await kubectl(cast().scene, ["delete", "pods", "-n", SYSTEM, "-l", selector], soon());
      const missing = `sallyport_${holder}_missing_rights{reach="grants"}`;
      // Until the new pods listen, a request fails.
      const read = () =>
        cast()
          .metric(holder, missing)
          .catch(() => 0);
      await eventually(read, (count) => count > 0, 60_000);
      // Time for a few tries of everything that is refused.
      await sleep(systemClock, WATCHED_MS, soon());
    } finally {
      for (const restore of restores) await restore();
    }
    await eventually(
      () => cast().pods(holder),
      (pods) => pods.every(isReady),
      60_000,
    );
    await fateOf("runs", await invoke(), witness);
    await healed(witness);
    expect((await containers()).filter((each) => !each.endsWith(" 0"))).toEqual([]);
  });
});

test("the request that waited all along runs when it is approved", async () => {
  await cast().approve(approval);
  await cast().grant(witness.pending, ({ status }) => status?.state === "Completed");
});

/** Each of our containers, and its restart count. */
async function containers(): Promise<readonly string[]> {
  const pods = [...(await cast().pods("agent")), ...(await cast().pods("operator"))];
  return pods.map(({ metadata, status }) => {
    const restarts = status?.containerStatuses?.map(({ restartCount }) => restartCount) ?? [];
    return `${metadata.name} ${restarts.join("+")}`;
  });
}

const invoke = (): Promise<string> => cast().begin("get-pods", { namespace: SHOP });
