import { describe, expect, it } from "vitest";
import { moduleProblems } from "./module-check.ts";
import { problemLine } from "./problem.ts";

const problems = (text: string, ...operations: string[]) => moduleProblems(text, operations).map(problemLine);

describe("a plugin's module", () => {
  it.each([
    ["export default { show: { run() {} } };"],
    ["export default { show: { async run() {} } };"],
    ["const operations = { show: defineOperation({ run: () => ({}) }) }; export default operations;"],
    ["const show = defineOperation({ run }); export default { show };"],
    ['export default { "show": made() };'],
    ["export default { show: defineOperation({ ...shared }) };"],
    [
      'import { createHash } from "node:crypto"; import { OperationError } from "@sallyport/plugin"; export default { show };',
    ],
  ])("may be %s", (text) => {
    expect(problems(text, "show")).toEqual([]);
  });

  it("is judged without operations where plugin.yaml has no list of them", () => {
    expect(moduleProblems("export default { show };", undefined)).toEqual([]);
  });

  it.each([
    ["export default {", "plugin.mjs:1:17 cannot be parsed: Unexpected token"],
    ["const a = 1;\nconst a = 2;", "plugin.mjs:2:7 cannot be parsed: Identifier 'a' has already been declared"],
    ["", "plugin.mjs:1:1 has no export default { … }"],
    ["export const show = {};", "plugin.mjs:1:1 has no export default { … }"],
    ["\nexport default make();", "plugin.mjs:2:1 must be export default { … }"],
    ["export default { };", "plugin.mjs:1:1 has no entry for the operation show that plugin.yaml declares"],
    ["export default { show,\n  other };", "plugin.mjs:2:3 plugin.yaml declares no operation other"],
    ["export default { show, ...more };", "plugin.mjs:1:24 must be a name that is written out"],
    [
      "export default { show: defineOperation({ verify() {} }) };",
      "plugin.mjs:1:18 the operation show has no function run",
    ],
    [
      'import fs from "node:fs"; export default { show };',
      'plugin.mjs:1:16 may not import "node:fs": a plugin imports',
    ],
    ['export * from "./other.mjs"; export default { show };', 'plugin.mjs:1:15 may not import "./other.mjs"'],
    ['export { a } from "a"; export default { show };', 'plugin.mjs:1:19 may not import "a"'],
    [
      'export default { show: { async run() {\n await import("node:fs"); } } };',
      "plugin.mjs:2:8 import() is not allowed: a plugin is one module",
    ],
  ])("may not be %j", (text, problem) => {
    expect(problems(text, "show").join("\n")).toContain(problem);
  });
});
