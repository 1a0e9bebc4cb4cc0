import { expect, it } from "vitest";
import type { OrderedFile } from "./order/order-files.ts";
import { inOrder } from "./sequencer.ts";

const specification = (file: string, name: string, cluster = "") => ({
  ...{ moduleId: `/checkout/${file}`, project: { name } },
  cluster,
});
const SPECIFICATIONS = [
  specification("src/a.test.ts", "unit"),
  specification("test/b.test.ts", "integration"),
  specification("src/c.test.ts", "unit"),
  specification("test/d.test.ts", "integration"),
  specification("test/e.test.ts", "integration", "with controllers"),
];
const names = (files: readonly OrderedFile[]) =>
  inOrder(SPECIFICATIONS, files, "/checkout", ({ cluster }) => cluster).map(({ moduleId }) =>
    moduleId.slice("/checkout/".length),
  );

it("runs the files that are asked for, in that order, and no others", () => {
  const files = ["test/d.test.ts", "test/b.test.ts", "src/no-longer-there.test.ts"];
  expect(names(files.map((file) => ({ file, reason: "changed", seconds: 1 })))).toEqual(files.slice(0, 2));
});

it("keeps a project's files together among those that run for one reason", () => {
  expect(
    names([
      { file: "src/c.test.ts", reason: "changed", seconds: 1 },
      { file: "test/d.test.ts", reason: "longest without a run", seconds: 1 },
      { file: "src/a.test.ts", reason: "longest without a run", seconds: 1 },
      { file: "test/b.test.ts", reason: "longest without a run", seconds: 1 },
    ]),
  ).toEqual(["src/c.test.ts", "test/d.test.ts", "test/b.test.ts", "src/a.test.ts"]);
});

it("keeps files together that ask for the same cluster", () => {
  const files = ["test/b.test.ts", "test/e.test.ts", "test/d.test.ts"];
  expect(names(files.map((file) => ({ file, reason: "changed", seconds: 1 })))).toEqual([
    "test/b.test.ts",
    "test/d.test.ts",
    "test/e.test.ts",
  ]);
});
