import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { brokenFences } from "./fences.ts";

const page = (...script: string[]) => ["# Page", "", "```sh", ...script, "```", ""].join("\n");

test.each([
  ["kubectl get pods   # or kubectl get nodes", "kubectl get nodes"],
  ["cd shop; kubectl get pods | kubectl apply -f -"],
  ["sallyport profiles; sallyport login \\", "  --key"],
])("%j runs as it is pasted", (...script) => {
  expect(brokenFences(page(...script))).toEqual([]);
});

test("a block that bash cannot read is named with its line", () => {
  const broken = brokenFences(
    page("export KEY=… # a key (or workspace.member:", "then add ?project=NAME) api() { curl; }"),
  );
  expect(broken).toEqual([{ line: 4, reason: expect.stringContaining("syntax error") }]);
});

test("commands that a formatter has joined to one line are named", () => {
  const broken = brokenFences(page("sallyport platform workspaces create acme sallyport platform workspaces list"));
  expect(broken).toEqual([{ line: 4, reason: expect.stringContaining("several commands in one line") }]);
});

test("blocks of other languages are not read", () => {
  expect(brokenFences("```json\n(\n```\n")).toEqual([]);
});

test("every shell block of the pages runs as it is pasted", () => {
  const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, "check-fences.ts")], {
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
});
