import { describe, expect, test } from "vitest";
import { loadAgentConfig } from "./config.ts";

const minimal = { SALLYPORT_PLATFORM_URL: "https://api.example.com" };

test("only the platform's address must be set", () => {
  expect(loadAgentConfig(minimal)).toMatchObject({
    platformUrl: "https://api.example.com/",
    heartbeatIntervalMs: 60_000,
    namespaces: [],
    grantsNamespace: "sallyport-grants",
    leaseName: "sallyport-agent",
  });
});

test("namespaces are trimmed, sorted and told once", () => {
  expect(loadAgentConfig({ ...minimal, SALLYPORT_NAMESPACES: "shop, billing ,shop," }).namespaces).toEqual([
    "billing",
    "shop",
  ]);
});

test("all kinds are observed, or those that are named", () => {
  expect(loadAgentConfig(minimal).observedKinds).toHaveLength(9);
  const some = (names: string): unknown =>
    loadAgentConfig({ ...minimal, SALLYPORT_OBSERVED_KINDS: names }).observedKinds;
  expect(some("pods, cronjobs,deployments")).toEqual(["Deployment", "Pod", "CronJob"]);
  expect(some("none")).toEqual([]);
  expect(() => some("pods,secrets")).toThrow("SALLYPORT_OBSERVED_KINDS must be none, or of deployments, ");
});

test("what is asked for when needed can be left out", () => {
  const asked = (names: string): unknown =>
    loadAgentConfig({ ...minimal, SALLYPORT_OBSERVED_ON_DEMAND: names }).observedOnDemand;
  expect([asked("metrics, events"), asked("none")]).toEqual([["events", "metrics"], []]);
  expect(() => asked("logs")).toThrow("SALLYPORT_OBSERVED_ON_DEMAND must be none, or of events, metrics");
});

test("a label selector is one that the API server takes", () => {
  const selector = (text: string): unknown =>
    loadAgentConfig({ ...minimal, SALLYPORT_OBSERVED_LABEL_SELECTOR: text }).observedLabelSelector;
  expect([selector(""), selector("app in (web, api)")]).toEqual(["", "app in (web, api)"]);
  expect(() => selector("app is web")).toThrow("SALLYPORT_OBSERVED_LABEL_SELECTOR must be a label selector");
});

test("every bad setting is told at once", () => {
  const load = (): unknown =>
    loadAgentConfig({
      SALLYPORT_PLATFORM_URL: "http://api.example.com",
      SALLYPORT_NAMESPACES: "Shop",
      SALLYPORT_HEARTBEAT_INTERVAL: "60",
      SALLYPORT_HEALTH_PORT: "65536",
    });
  expect(load).toThrow(
    /PLATFORM_URL must be an https URL[\s\S]*NAMESPACES must[\s\S]*HEARTBEAT_INTERVAL must[\s\S]*HEALTH_PORT must/,
  );
});

describe("the platform's address", () => {
  test.each(["http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:2", "https://x.example/path"])(
    "may be %s",
    (url) => {
      expect(loadAgentConfig({ SALLYPORT_PLATFORM_URL: url }).platformUrl).toContain(url);
    },
  );
  test.each(["", "http://10.0.0.1", "ftp://x", "https://user:secret@x", "http://127.0.0.1.evil.example"])(
    "may not be %s",
    (url) => {
      const load = (): unknown => loadAgentConfig({ SALLYPORT_PLATFORM_URL: url });
      expect(load).toThrow(/SALLYPORT_PLATFORM_URL must be/);
      expect(load).not.toThrow(/secret/);
    },
  );
});

test("the renew deadline must leave the lease its margin", () => {
  const load = (): unknown => loadAgentConfig({ ...minimal, SALLYPORT_RENEW_DEADLINE: "14s" });
  expect(load).toThrow("SALLYPORT_RENEW_DEADLINE must be at least 2s shorter than the lease's duration");
});
