import { expect, it } from "vitest";
import { BUILTIN_PLUGINS } from "../contract/operations/builtin-plugins.ts";
import * as contract from "../contract/operations/operations.ts";
import { HumanText } from "../contract/wire/schema.ts";
import { operationRole } from "../crds/group.ts";
import { OPERATIONS } from "../crds/operations/catalog.ts";
import { DEBUG_OPERATIONS } from "../crds/operations/debug.ts";
import { MACHINE_OPERATIONS } from "../crds/operations/machines.ts";
import * as crds from "../crds/plan.ts";
import { RELEASE_OPERATIONS } from "../crds/released/releases.ts";
import { isAllowedImport } from "./module-imports.ts";
import { Description, isReservedName, Name, pluginRole, TIERS, Version } from "./words.ts";

it("has the words of the platform's API and of the customer's cluster", () => {
  expect(TIERS).toEqual(contract.TIERS);
  expect(TIERS).toEqual(crds.TIERS);
  expect(Name).toEqual(contract.PluginName);
  expect(Version).toEqual(contract.PluginVersion);
  expect(Description).toEqual(HumanText(0, 1024));
  expect(pluginRole("search", "reindex")).toBe(operationRole("search", "reindex"));
});

it("no plugin can be named as one of Sallyport's own, or so that its operation gets the role of one", () => {
  const own = [...OPERATIONS, ...DEBUG_OPERATIONS, ...MACHINE_OPERATIONS, ...RELEASE_OPERATIONS];
  const commands = [...own.map(({ command }) => command), ...BUILTIN_PLUGINS.map(({ name }) => `${name}/x`)];
  expect(commands.length).toBeGreaterThan(20);
  for (const command of commands) {
    const words = command.replace("/", "-").split("-");
    for (let length = 1; length < words.length; length += 1) {
      expect(isReservedName(words.slice(0, length).join("-")), command).toBe(true);
    }
  }
  expect(["search", "kubernetesx", "my-debug", "releaser"].filter(isReservedName)).toEqual([]);
});

it.each([
  ["@sallyport/plugin", true],
  ["node:crypto", true],
  ["crypto", false],
  ["node:fs", false],
  ["node:child_process", false],
  ["node:net", false],
  ["node:module", false],
  ["./other.mjs", false],
  ["@sallyport/plugin/other", false],
])("a module may import %s: %s", (specifier, expected) => {
  expect(isAllowedImport(specifier)).toBe(expected);
});
