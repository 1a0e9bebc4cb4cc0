import { expect, it } from "vitest";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { drain, NODE, node, requested } from "../testing/drain-fixtures.ts";
import { decideCordon } from "./cordon.ts";
import type { DrainNode } from "./shapes.ts";

const ours = node(NODE, { cordoned: true, mark: "uid-of-gone" });
const young = node(NODE, { cordoned: true, mark: "uid-of-gone", createdAt: "2026-01-01T00:00:01Z" });
const found = node(NODE, { cordoned: true, mark: "uid-of-gone/found" });
const over = (state: "Drained" | "Failed"): MachineDrain => drain("other", {}, { status: { state } });

const TABLE: readonly (readonly [string, DrainNode, readonly MachineDrain[], unknown])[] = [
  ["no mark: a person's cordon", node(NODE, { cordoned: true }), [], { do: "nothing" }],
  ["its drain is there", ours, [drain("gone")], { do: "nothing" }],
  ["its drain is there, and over", ours, [drain("gone", {}, { status: { state: "Drained" } })], { do: "nothing" }],
  ["its drain is gone", ours, [], { do: "undo", uncordon: true }],
  ["a drain of another node is there", ours, [drain("x", { nodeName: "m-9" })], { do: "undo", uncordon: true }],
  ["its drain is gone, and found the node cordoned", found, [], { do: "undo", uncordon: false }],
  ["a person has uncordoned it", node(NODE, { mark: "uid-of-gone" }), [], { do: "undo", uncordon: false }],
  ["another drain inherits", ours, [drain("other")], { do: "hand over", isOurs: true }],
  ["another inherits a cordon that was found", found, [drain("other")], { do: "hand over", isOurs: false }],
  ["another that is over keeps it", ours, [over("Drained")], { do: "hand over", isOurs: true }],
  ["one that emptied an earlier node of the name does not", young, [over("Drained")], { do: "undo", uncordon: true }],
  ["one that waits for the node of its name inherits", young, [drain("other")], { do: "hand over", isOurs: true }],
  ["one that failed inherits nothing", ours, [over("Failed")], { do: "undo", uncordon: true }],
  ["one that is not approved inherits nothing", ours, [drain("other", requested())], { do: "undo", uncordon: true }],
];

it.each(TABLE)("a mark on a node: %s", (_, marked, drains, expected) => {
  expect(decideCordon(marked, drains)).toMatchObject(expected as object);
});

it("of several drains the oldest inherits", () => {
  const younger = drain("a", {}, { createdAt: "2026-01-01T00:00:02Z" });
  expect(decideCordon(ours, [younger, drain("z")])).toMatchObject({ to: { metadata: { name: "z" } } });
});
