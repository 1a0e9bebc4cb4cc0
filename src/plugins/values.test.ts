import { expect, it } from "vitest";
import type { PluginMetadata, PluginOperation } from "./metadata.ts";
import { pluginsValues } from "./values.ts";

const operation = (name: string, scope: PluginOperation["scope"]): PluginOperation => ({
  ...{
    name,
    scope,
    tier: "mutating",
    description: "",
    paramsSchema: { type: "object" },
    timeLimitSeconds: 1,
    result: {},
  },
  rules: [{ apiGroups: ["example.com"], resources: ["widgets"], verbs: ["get"] }],
});

it("let each operation run as its metadata asks for it, but none of scope cluster, which the chart refuses", () => {
  const operations = [operation("turn", "namespaced"), operation("mend", "cluster")];
  const plugin: PluginMetadata = {
    ...{ name: "widgets", version: "1.0.0", tier: "mutating", description: "", module: "plugin.mjs", operations },
  };
  const { rules } = operation("turn", "namespaced");
  expect(pluginsValues([plugin])).toEqual({
    widgets: {
      version: "1.0.0",
      operations: {
        turn: { enabled: true, tier: "mutating", scope: "namespaced", rules },
        mend: { enabled: false, tier: "mutating", scope: "cluster", rules },
      },
    },
  });
});
