import { describe, expect, it } from "vitest";
import { type Facts, readiness } from "./readiness.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const DAY_MS = 24 * 3600 * 1000;
const FINE: Facts = {
  hasRelease: true,
  allowed: ["aws"],
  served: ["aws"],
  managers: [{ heard: true, hasUrl: true }],
  unready: [],
  enabled: [],
  placesLeft: 1,
  tokenExpiresAt: null,
};
const later = (ms: number): Date => new Date(NOW.getTime() + ms);

describe("readiness", () => {
  it.each<[string, Partial<Facts>, string, readonly string[]]>([
    ["everything there", {}, "ready", []],
    [
      "no release",
      { hasRelease: false, served: [] },
      "notReady",
      ["release-available failed", "platform-allowed unknown"],
    ],
    ["a release for elsewhere", { served: [] }, "notReady", ["platform-allowed failed"]],
    ["a platform that the link forbids", { allowed: [] }, "notReady", ["platform-allowed failed"]],
    ["no manager", { managers: [] }, "notReady", ["manager-online failed"]],
    [
      "a manager without an address",
      { managers: [{ heard: true, hasUrl: false }] },
      "notReady",
      ["manager-online failed"],
    ],
    ["a silent manager", { managers: [{ heard: false, hasUrl: true }] }, "ready", ["manager-online warning"]],
    [
      "a package being built",
      { unready: [{ type: "cli", status: "building" }] },
      "notReady",
      ["packages-ready failed"],
    ],
    ["a full group", { placesLeft: 0 }, "notReady", ["group-capacity failed"]],
    ["a token of exactly a day", { tokenExpiresAt: later(DAY_MS) }, "ready", []],
    ["a token of a millisecond less", { tokenExpiresAt: later(DAY_MS - 1) }, "ready", ["token-valid-24h warning"]],
  ])("with %s", (_, facts, status, notPassed) => {
    const told = readiness({ ...FINE, ...facts }, NOW);
    const others = told.checks.filter((check) => check.status !== "passed");
    expect([told.status, others.map((check) => `${check.code} ${check.status}`)]).toEqual([status, notPassed]);
  });

  it("says what to do when a link needs packages of which the project has none", () => {
    const unready = [{ type: "helm", status: undefined }];
    const said = (enabled: readonly string[]) =>
      readiness({ ...FINE, unready, enabled }, NOW).checks.find(({ code }) => code === "packages-ready")?.message;
    expect(said([])).toContain("packagesConfig");
    expect(said(["helm"])).toBe("helm is not built");
  });

  it("does not count the places of a group that a deployment has its own in", () => {
    const codes = readiness({ ...FINE, placesLeft: undefined }, NOW).checks.map(({ code }) => code);
    expect(codes).not.toContain("group-capacity");
  });
});
