import { globSync } from "node:fs";
import { expect, it } from "vitest";
import { filesOf, missingFiles, PROJECTS, type Project, tierOf } from "./tiers.ts";

const ALL = Object.keys(PROJECTS) as Project[];

it("names only files that are there", () => {
  expect(missingFiles()).toEqual([]);
});

it("leaves no file out of both the default tier and the rest", () => {
  for (const project of ALL) {
    const tiers = new Set([...filesOf(project, "default"), ...filesOf(project, "rest")]);
    const all = globSync(filesOf(project, "full") as string[], { exclude: ["**/node_modules/**"] });
    expect(all.filter((file) => !tiers.has(file))).toEqual([]);
  }
});

it("runs again in the rest a file of the default tier whose tests are longer there, and no other", () => {
  const rest = filesOf("unit", "rest");
  expect(rest).toContain("test/platform/every-route.test.ts");
  expect(rest).toContain("test/platform/sigkill.test.ts");
  expect(rest).not.toContain("scripts/test-run/tiers.test.ts");
});

it("refuses a tier that there is none of", () => {
  expect(tierOf(undefined)).toBe("full");
  expect(() => tierOf("quick")).toThrow("SALLYPORT_TEST_TIER is default, rest or full, not quick");
});
