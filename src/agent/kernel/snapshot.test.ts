import { expect, test } from "vitest";
import { Snapshot } from "./snapshot.ts";

interface Item {
  readonly id: string;
  readonly state: string;
}

function snapshotOf(...items: readonly Item[]): Snapshot<Item> {
  const snapshot = new Snapshot<Item>(10, () => undefined);
  snapshot.replace("all", items);
  return snapshot;
}

test("a list that was asked for before an answer came does not undo the answer; the next one counts", () => {
  const snapshot = snapshotOf({ id: "a", state: "old" }, { id: "b", state: "old" });
  const since = snapshot.changes;
  snapshot.update({ id: "a", state: "new" });
  expect(snapshot.replace("all", [{ id: "a", state: "old" }], since)).toEqual(["a", "b"]);
  expect(snapshot.values()).toEqual([{ id: "a", state: "new" }]);
  snapshot.replace("all", [{ id: "a", state: "newest" }], snapshot.changes);
  expect(snapshot.values()).toEqual([{ id: "a", state: "newest" }]);
});

test("what was added while a list was on its way stays, and an update of what is gone adds nothing", () => {
  const snapshot = snapshotOf();
  const since = snapshot.changes;
  snapshot.add("all", { id: "a", state: "added" });
  snapshot.update({ id: "b", state: "new" });
  snapshot.replace("all", [], since);
  expect(snapshot.values()).toEqual([{ id: "a", state: "added" }]);
});
