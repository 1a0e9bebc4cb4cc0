import { expect, test } from "vitest";
import { loadOperatorConfig, OPERATOR_SETTINGS } from "./config.ts";

test("everything has a default that its own parser accepts", () => {
  const config = loadOperatorConfig({});
  expect(config).toMatchObject({
    grantsNamespace: "sallyport-grants",
    workers: 16,
    leaseDurationMs: 15_000,
    kubeconfig: "",
  });
  expect(Object.isFrozen(config)).toBe(true);
  expect(Object.keys(config).sort()).toEqual(Object.keys(OPERATOR_SETTINGS).sort());
});

test("an empty value is an unset one, and units count", () => {
  const config = loadOperatorConfig({
    SALLYPORT_WORKERS: " ",
    SALLYPORT_SWEEP_INTERVAL: "2m",
    SALLYPORT_HEALTH_PORT: "0",
  });
  expect(config).toMatchObject({ workers: 16, sweepIntervalMs: 120_000, healthPort: 0 });
});

test("all bad settings are told at once", () => {
  const env = { SALLYPORT_WORKERS: "many", SALLYPORT_SWEEP_INTERVAL: "60", SALLYPORT_GRANTS_NAMESPACE: "No Name" };
  expect(() => loadOperatorConfig(env)).toThrow(
    /SALLYPORT_GRANTS_NAMESPACE[\s\S]*SALLYPORT_WORKERS[\s\S]*SALLYPORT_SWEEP_INTERVAL/,
  );
});

test.each([
  [{ SALLYPORT_GRANTS_NAMESPACE: "sallyport-system" }, "mint its own token"],
  [{ SALLYPORT_RENEW_DEADLINE: "14s" }, "SALLYPORT_RENEW_DEADLINE must be at least 2s shorter"],
  [{ SALLYPORT_RETRY_PERIOD: "9s" }, "SALLYPORT_RETRY_PERIOD must be below the renew deadline divided by 1.2"],
])("settings that contradict each other are refused: %j", (env, words) => {
  expect(() => loadOperatorConfig(env)).toThrow(words);
});

test.each([
  ["sallyport-op-kubernetes-logs", "be sallyport-op-release-apply, or a ClusterRole of your own"],
  ["sallyport-operator", "the other roles of Sallyport are lent to others"],
  ["edit", "be a ClusterRole of your own: edit lets a rollout read Secrets"],
  ["A_Role", "be the name of a ClusterRole"],
])("%s is no role that a rollout could be lent", (role, words) => {
  expect(() => loadOperatorConfig({ SALLYPORT_RELEASES_ROLE: role })).toThrow(
    new RegExp(`SALLYPORT_RELEASES_ROLE must .*${words}`),
  );
});

test("a duration may be written in hours, as in the agent", () => {
  expect(() => loadOperatorConfig({ SALLYPORT_SWEEP_INTERVAL: "1h" })).toThrow("from 1000 to 600000 ms");
  expect(loadOperatorConfig({ SALLYPORT_SHUTDOWN_GRACE: "0h" }).shutdownGraceMs).toBe(0);
});

test("names of settings are unique, and all ours", () => {
  const names = Object.values(OPERATOR_SETTINGS).map(({ env }) => env);
  expect(new Set(names).size).toBe(names.length);
  expect(names.every((name) => name.startsWith("SALLYPORT_"))).toBe(true);
});
