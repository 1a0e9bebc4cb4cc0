import { expect, test } from "vitest";
import { ApiError } from "../../api-client/api-error.ts";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { ManagerIdentity, WrongKeyError } from "../platform-link/manager-identity.ts";
import { ReconnectRule } from "../platform-link/reconnect-rule.ts";
import { forever } from "../testing/sample.ts";
import { Heartbeat, type HeartbeatBody } from "./heartbeat.ts";

const ID = `mgr_${"m".repeat(28)}`;
const body: HeartbeatBody = { status: "healthy", url: "https://agent", managementConfigs: {} };

async function settle(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await Promise.resolve();
}

test("beats every minute, goes on through failures", async () => {
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  const stop = new AbortController();
  const results: string[] = [];
  let fails = false;
  const heartbeat = new Heartbeat({
    platform: {
      heartbeat: async () => {
        if (fails) throw new ApiError("NETWORK_ERROR", "away", { status: 0, retryable: true });
        return { acknowledged: true, timestamp: clock.wallNow().toISOString() };
      },
    },
    identity: { resolve: async () => ID },
    clock,
    random: () => 0.5,
    rule: new ReconnectRule(clock, () => 1),
    log: silentLogger,
    metrics: {
      heartbeat: (result) => void results.push(result),
      backingOff: () => undefined,
    },
    intervalMs: 60_000,
    body: () => body,
  });
  const done = heartbeat.run(stop.signal);
  await settle();
  clock.advance(59_999);
  await settle();
  expect(results).toEqual(["ok"]);
  fails = true;
  clock.advance(1);
  await settle();
  expect(results).toEqual(["ok", "failed"]);
  fails = false;
  clock.advance(1_000);
  await settle();
  expect(results).toEqual(["ok", "failed", "ok"]);
  stop.abort(new Error("test over"));
  await done;
  expect(clock.pending).toBe(0);
});

test("a manager is asked who it is once, and a key of another kind is a clear error", async () => {
  let asked = 0;
  const common = { id: "k", workspaceId: "w", workspaceName: "n" };
  const scope = { type: "manager" as const, managerId: ID };
  const identity = new ManagerIdentity({
    get: async () => {
      asked += 1;
      return { kind: "serviceAccount", role: "manager.runtime", scope, ...common };
    },
  });
  expect(await identity.resolve(forever)).toBe(ID);
  expect(await identity.resolve(forever)).toBe(ID);
  expect(asked).toBe(1);
  const wrong = new ManagerIdentity({
    get: async () => ({ kind: "user", email: "a@b", role: "workspace.admin", ...common }),
  });
  await expect(wrong.resolve(forever)).rejects.toThrow(WrongKeyError);
});
