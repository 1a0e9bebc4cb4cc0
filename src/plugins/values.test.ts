import { expect, it } from "vitest";
import type { PluginMetadata } from "./metadata.ts";
import { pluginsValues } from "./values.ts";

it("let each operation run as its metadata asks for it", () => {
  const rules: PluginMetadata["operations"][number]["rules"] = [
    { apiGroups: ["example.com"], resources: ["widgets"], verbs: ["get"] },
  ];
  const operation = (name: string, tier: PluginMetadata["tier"]): PluginMetadata["operations"][number] => ({
    ...{ name, tier, description: "", paramsSchema: { type: "object" }, rules, timeLimitSeconds: 1, result: {} },
  });
  const operations = [operation("turn", "mutating"), operation("show", "read-only")];
  const plugin: PluginMetadata = {
    ...{ name: "widgets", version: "1.0.0", tier: "mutating", description: "", module: "plugin.mjs", operations },
  };
  expect(pluginsValues([plugin])).toEqual({
    widgets: {
      version: "1.0.0",
      operations: {
        turn: { enabled: true, tier: "mutating", rules },
        show: { enabled: true, tier: "read-only", rules },
      },
    },
  });
});
