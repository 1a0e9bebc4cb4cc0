import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { parse } from "yaml";
import { runs } from "../../base/testing/runs.ts";
import { UsageError } from "./command.ts";
import { formatOf, render, Table } from "./output.ts";

describe("a table", () => {
  it("shows whom a manager serves, and which manager a deployment has or waits for", async () => {
    const own = { url: null, cloud: "aws", region: "eu", setupStatus: "active", isSystem: false, version: "1" };
    const managers = [{ id: "mgr_1", name: "eu", status: "healthy", ...own, deploymentGroupId: "dg_1", shared: false }];
    expect(await render(managers, "table")).toMatch(/^ID +NAME +STATUS +DEPLOYMENT-GROUP-ID +SHARED +/);
    const both = { name: "shop", region: "eu", status: "running", platform: "kubernetes", deploymentGroupId: "dg_1" };
    const deployments = [
      { id: "dep_1", ...both, managerId: "mgr_1", waitsFor: null },
      { id: "dep_2", ...both, waitsFor: "manager" },
    ];
    expect(await render(deployments, "table")).toMatch(/^ID +NAME +STATUS +PLATFORM +MANAGER-ID +WAITS-FOR\n/);
  });

  it("has a line a row, the telling columns first, and none that is empty everywhere", async () => {
    const rows = [
      { createdAt: "2026-11-21T10:00:00.000Z", url: null, region: "eu", name: "one", id: "a" },
      { createdAt: "2026-11-21T10:00:01.000Z", url: null, region: null, name: "three", id: "b", more: { x: 1 } },
    ];
    expect(await render(rows, "table")).toBe(
      [
        "ID  NAME   REGION  CREATED-AT",
        "a   one    eu      2026-11-21T10:00:00Z",
        "b   three  -       2026-11-21T10:00:01Z",
        "",
      ].join("\n"),
    );
  });

  it("shows one record as a line a field", async () => {
    expect(await render({ id: "a", list: ["x", "y"], deep: { a: 1 }, none: null }, "table")).toBe(
      'id    a\nlist  x,y\ndeep  {"a":1}\nnone  -\n',
    );
  });

  it("gives no cell the whole line, and puts later rows below the same columns", async () => {
    const rows = [
      { name: `${"n".repeat(118)}🚪🚪`, why: "w".repeat(5_000) },
      { name: "a", why: "b" },
    ];
    const [, first = "", second = ""] = (await render(rows, "table")).split("\n");
    expect(first).toBe(`${"n".repeat(118)}…  ${"w".repeat(511)}…`);
    expect(second).toBe(`${"a".padEnd(119)}  b`);
    expect(JSON.parse(await render(rows, "json"))).toEqual(rows);
    const table = new Table(["name", "why"]);
    expect(table.lines([])).toBe("");
    expect(table.lines([{ name: "api", why: "x" }])).toBe("NAME  WHY\napi   x\n");
    expect(table.lines([{ name: "a", why: null }])).toBe("a     -\n");
  });

  it("says so when there is nothing", async () => {
    expect(await render([], "table")).toBe("(none)\n");
  });
});

it.each(["table", "json", "yaml"] as const)(
  "what came from elsewhere cannot steer the terminal as %s",
  async (format) => {
    const text = await render({ log: "\u001b[2Jgone\u202egnp\u009b", name: "é ü 漢" }, format);
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).toContain("é ü 漢");
  },
);

it.each(["table", "json", "yaml"] as const)("nor can the name of a field as %s", async (format) => {
  const evil = { "a\u001b[2J\u202e\u009b\u{e0001}": 1, "b\u0007": { "c\u001b": "d" } };
  for (const value of [evil, [evil, evil], { deep: [evil] }])
    expect((await render(value, format)).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test("property: a program reads from json and yaml what was written, whatever it holds", async () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.constantFrom(
      "\u200b",
      "a\u200db",
      "\u{e0001}x",
      "one\n\u202etwo\n",
      " \u001b",
      "\u2028",
      "- \u0085",
      "'\u200b'",
    ),
  );
  const value = fc.dictionary(text, fc.oneof(text, fc.array(text, { maxLength: 3 }), fc.integer()), { maxKeys: 4 });
  await fc.assert(
    fc.asyncProperty(value, async (given) => {
      const plain = JSON.parse(JSON.stringify(given)) as unknown;
      expect(JSON.parse(await render(given, "json"))).toEqual(plain);
      expect(parse(await render(given, "yaml"))).toEqual(plain);
    }),
    { numRuns: runs(500) },
  );
});

it("json stays json", async () => {
  const value = { a: "\u001b\u202e\n\u{e0001}", b: [1, null] };
  expect(JSON.parse(await render(value, "json"))).toEqual(value);
});

it("refuses a format that does not exist", () => {
  expect(() => formatOf("xml")).toThrow(UsageError);
});
