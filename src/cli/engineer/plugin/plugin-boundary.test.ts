import { expect, it } from "vitest";
import { BOUNDARIES } from "../../../operator/plugin-process/boundary.ts";
import { boundaryOf } from "./plugin-boundary.ts";

it.each(BOUNDARIES)("$name: what is between a plugin and the machine is said once", async (boundary) => {
  const lines: string[] = [];
  const choose = boundaryOf(
    (line) => lines.push(line),
    async () => boundary,
  );
  expect([await choose(), await choose()]).toEqual([boundary, boundary]);
  expect(lines).toEqual([expect.stringContaining(`runs in Linux namespaces of its own (${boundary.name})`)]);
});

it("none: a person is warned, and runs it in a container for a stranger's", async () => {
  const lines: string[] = [];
  const choose = boundaryOf(
    (line) => lines.push(line),
    async () => undefined,
  );
  expect([await choose(), await choose()]).toEqual([undefined, undefined]);
  expect(lines).toEqual([expect.stringMatching(/^WARNING: .*does not have.*Run this in a container/)]);
});
