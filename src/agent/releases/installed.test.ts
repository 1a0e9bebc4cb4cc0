import { expect, test } from "vitest";
import type { Rollout, RolloutStatus } from "../../crds/kinds/rollout.ts";
import { installedOf } from "./installed.ts";

const AT = "2026-01-01T10:00:00Z";
const message = "could not be looked at: ConfigMap/shop/web";

test.each<[string, readonly object[], string | undefined]>([
  ["before the first look", [], "the operator has not compared what is installed yet"],
  ["after a look at a part", [{ type: "Compared", status: "Unknown", message }], message],
  ["after a look at everything", [{ type: "Compared", status: "True", message: "all of it was compared" }], undefined],
])("%s it is known whether all drift is told", (_, said, notCompared) => {
  const conditions = [{ type: "Healthy", status: "True", message: "healthy" }, ...said];
  const rollout = {
    metadata: { name: "duop-1", creationTimestamp: AT },
    spec: { contentName: "rel-1", contentDigest: "sha256:1" },
    status: { state: "Succeeded", startedAt: AT, conditions } as unknown as RolloutStatus,
  } as Rollout;
  expect(installedOf([rollout], () => undefined)).toMatchObject({ rollout: "duop-1", drift: [], notCompared });
});

test.each([0, 1])(
  "of two that were made and have begun in one second the one that was asked for later is installed (%i)",
  (first) => {
    const one = (digit: number) =>
      ({
        metadata: { name: `duop-${digit}`, creationTimestamp: AT },
        spec: {
          contentName: `rel-${digit}`,
          contentDigest: `sha256:${digit}`,
          requestedAt: `2026-01-01T10:00:00.${digit}00Z`,
        },
        status: { state: "Succeeded", startedAt: AT } as RolloutStatus,
      }) as Rollout;
    expect(installedOf([one(first), one(1 - first)], () => undefined)).toMatchObject({ rollout: "duop-1" });
  },
);
