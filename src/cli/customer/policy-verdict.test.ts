import { expect, test } from "vitest";
import type { OperationPolicySpec } from "../../crds/kinds/operation-policy.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import type { WindowState } from "../../operator/gate/release-windows.ts";
import { policyVerdict, requireCommand, verdictText, waitsForWindows } from "./policy-verdict.ts";

const NODE = { operation: "kubernetes/cordon-node", deployments: ["dep_1"] } as const;

const ask = (policies: Parameters<typeof policyVerdict>[0], command: string, windows?: WindowState) =>
  policyVerdict(policies, { command, params: { name: "node-1" }, deploymentId: "dep_1" }, BUILT_IN, windows);

test.each<readonly [string, OperationPolicySpec, string]>([
  [
    "kubernetes/scale",
    {},
    "(mutating): manual, it waits for an approval\n  a: manual (no rule names it, and no default mutating)",
  ],
  [
    "kubernetes/logs",
    { defaults: { "read-only": "auto" } },
    "auto, it runs by itself, without an approval\n  a: auto (defaults.read-only: auto)",
  ],
  [
    "kubernetes/scale",
    { rules: [{ pattern: "kubernetes/*", decision: "deny" }] },
    "never runs, approved or not\n  a: deny (rule kubernetes/*: deny)",
  ],
  [
    "debug/exec",
    { rules: [{ pattern: "*", decision: "auto" }] },
    "a: manual (rule *: auto, which does not count for debug/exec)",
  ],
  [
    "kubernetes/cordon-node",
    { defaults: { mutating: "auto" } },
    "a: deny (defaults.mutating: auto, but clusterOperations does not name it",
  ],
  ["kubernetes/cordon-node", { clusterOperations: [NODE] }, "a: manual (no rule names it"],
  ["kubernetes/scal", {}, "(destructive): manual, it never runs: this version of Sallyport has no such command"],
])("%s with %j", (command, spec, words) => {
  const policy = { metadata: { name: "a" } as never, spec };
  expect(verdictText(ask([policy], command))).toContain(words);
});

test("of several policies each is named, and the strictest counts", () => {
  const policies = [
    { metadata: { name: "a" } as never, spec: { rules: [{ pattern: "kubernetes/scale", decision: "auto" as const }] } },
    { metadata: { name: "b" } as never, spec: { defaults: { mutating: "deny" as const } } },
  ];
  expect(verdictText(ask(policies, "kubernetes/scale"))).toBe(
    "kubernetes/scale (mutating): deny, it never runs, approved or not\n" +
      "  a: auto (rule kubernetes/scale: auto)\n  b: deny (defaults.mutating: deny)\n",
  );
});

test("without any policy it says so", () => {
  expect(verdictText(ask([], "kubernetes/get-pods"))).toContain(
    "manual, it waits for an approval\n  there is no OperationPolicy",
  );
});

const auto = { metadata: { name: "a" } as never, spec: { rules: [{ pattern: "release/update", decision: "auto" }] } };
const opensAt = new Date("2026-01-01T22:00:00Z");

test.each<readonly [string, WindowState, string]>([
  [
    "closed",
    { isOpen: false, opensAt },
    "but no window for releases is open now: the next opens at 2026-01-01T22:00:00.000Z",
  ],
  [
    "closed for ever",
    { isOpen: false, problem: "it never comes" },
    "but no window for releases is open now: none opens\n  it never comes",
  ],
  ["open", { isOpen: true }, "a window for releases is open now"],
])("a policy that allows a release says that its windows are %s", (_, windows, words) => {
  const text = verdictText(ask([auto as never], "release/update", windows));
  expect(text).toContain(
    `release/update (mutating): auto, it runs by itself, without an approval\n  ${words}\n  a: auto (`,
  );
});

test("windows are of releases that begin: not of what is denied, of the way back, or of operations", () => {
  const deny = { metadata: { name: "a" } as never, spec: { defaults: { mutating: "deny" as const } } };
  expect(ask([deny], "release/update", { isOpen: false, opensAt }).windows).toBeNull();
  expect(ask([auto as never], "release/update").windows).toBeNull();
  const all = [
    "release/install",
    "release/update",
    "release/prune",
    "release/delete",
    "release/rollback",
    "kubernetes/scale",
  ];
  expect(all.filter(waitsForWindows)).toEqual(all.slice(0, 4));
});

test("a command of releases that is none is not answered", () => {
  const words =
    /no command release\/nope; those of releases are release\/install, release\/update, release\/prune, release\/delete, release\/rollback$/;
  expect(() => requireCommand("release/nope")).toThrow(words);
  for (const command of ["release/update", "kubernetes/scale", "other/nope"]) requireCommand(command);
});
