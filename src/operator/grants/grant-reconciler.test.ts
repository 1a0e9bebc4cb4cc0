import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { AccessGrantStatus } from "../../crds/kinds/access-grant.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { mergePolicies } from "../gate/policy.ts";
import { at, grant } from "../testing/fixtures.ts";
import { type GrantPorts, reconcileGrant } from "./grant-reconciler.ts";

type Look = GrantPorts["roleLending"]["ofPlan"];

/** A grant whose window is 09:00 to 09:05, where approvers lend and the look at their bindings goes as `look` says. */
function windowed(look: Look, more: Partial<GrantPorts> = {}) {
  const status: AccessGrantStatus = {
    state: "Approved",
    approvedAt: "2026-01-01T09:00:00Z",
    approvedUntil: "2026-01-01T09:05:00Z",
  };
  const approved = grant({ approvedForMinutes: 5 }, status);
  const clock = new FakeClock("2026-01-01T09:04:59Z");
  const stopped: string[] = [];
  const ports: GrantPorts = {
    clock,
    fence: () => undefined,
    grant: () => approved,
    invocation: () => undefined,
    policy: () => mergePolicies([]),
    commands: BUILT_IN,
    enforcement: () => ({ kind: "stamped", since: at("08:00:00") }),
    acceptedOf: () => ["shop"],
    rights: { missingFor: () => [], obstacle: undefined },
    writeStatus: async (each) => each,
    linkReceipt: async () => "linked",
    access: { closeAll: async () => undefined },
    roleLending: { ofPlan: look },
    running: {
      stop: (_, because) => {
        stopped.push(because);
        return 1;
      },
    },
    metrics: { transition: () => undefined },
    publisher: { grantBecame: () => undefined },
    ...more,
  };
  const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
  return { clock, stopped, reconcile: () => reconcileGrant("a/b", ports, context) };
}

test("where approvers lend, a closed window is acted on without a look at bindings", async () => {
  const world = windowed(() => Promise.reject(new Error("the API server is slow")));
  await expect(world.reconcile()).rejects.toThrow("slow");
  expect(world.stopped).toEqual([]);
  world.clock.advance(1_000);
  await world.reconcile();
  expect(world.stopped).toEqual(["window closed"]);
});

test("a look at bindings that hangs is given up when the window closes", async () => {
  const hangs: Look = (_, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const world = windowed(hangs);
  const first = expect(world.reconcile()).rejects.toThrow("not done within 1000 ms");
  world.clock.advance(1_000);
  await first;
  await world.reconcile();
  expect(world.stopped).toEqual(["window closed"]);
});

test("a plan for a node waits while its deployment is accepted in no namespace, as the gate would refuse it", async () => {
  const commands = [{ command: "kubernetes/cordon-node", params: { name: "node-1" }, summary: "s" }];
  const accepted = async (namespaces: readonly string[]): Promise<string | undefined> => {
    let written: AccessGrantStatus = {};
    const world = windowed(() => Promise.resolve(undefined), {
      grant: () => grant({ commands }),
      acceptedOf: () => namespaces,
      writeStatus: async (each, status) => {
        written = status;
        return each;
      },
    });
    await world.reconcile();
    const found = written.conditions?.find(({ type }) => type === "Accepted");
    return `${found?.status} ${found?.message}`;
  };
  expect(await accepted([])).toMatch(/^False .* is not accepted in any namespace/);
  expect(await accepted(["shop"])).toMatch(/^True .* the condition Permitted says what it may do outside them$/);
});
