import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { MAX_OPEN } from "../../crds/kinds/open-cap.ts";
import { OpenObjects } from "../../crds/kinds/open-objects.ts";
import { Capacity } from "./capacity.ts";

const object = (number: number, state?: string, deploymentId = "dep-1") => ({
  metadata: { name: `ar-${number}`, creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { deploymentId },
  ...(state !== undefined && { status: { state } }),
});
type Shown = ReturnType<typeof object>;
const { ofDeployment, inAll } = MAX_OPEN;

function capacityWorld() {
  const clock = new FakeClock();
  const open = new OpenObjects<Shown>();
  const subject = new Capacity({ clock, open });
  const show = (object: Shown): void => {
    for (const tell of [open.changed, subject.shown]) tell({ type: "updated", object });
  };
  return { clock, show, capacity: subject };
}

test("four hundred requests become as many grants as the cap says, though the cache shows none of them yet", () => {
  const { capacity: subject } = capacityWorld();
  let made = 0;
  for (let number = 0; number < 400; number += 1) {
    if (subject.fullBecause("dep-1") !== undefined) continue;
    subject.made(object(number));
    made += 1;
  }
  expect(made).toBe(ofDeployment);
  expect(subject.fullBecause("dep-1")).toContain(`at most ${ofDeployment}`);
  expect(subject.fullBecause("dep-2")).toBeUndefined();
});

test("what is over, refused, or deleted before it was seen makes room", () => {
  const { capacity: subject, show, clock } = capacityWorld();
  for (let number = 0; number < ofDeployment; number += 1) subject.made(object(number));
  for (let number = 0; number < ofDeployment - 2; number += 1) show(object(number, "Approved"));
  expect(subject.fullBecause("dep-1")).toBeDefined();
  show(object(0, "Completed"));
  expect(subject.fullBecause("dep-1")).toBeUndefined();
  subject.made(object(1000));
  expect(subject.fullBecause("dep-1")).toBeDefined();
  subject.unmade(object(1000));
  expect(subject.fullBecause("dep-1")).toBeUndefined();
  subject.made(object(1001));
  clock.advance(61_000);
  expect(subject.fullBecause("dep-1")).toBeUndefined();
});

test("all deployments together have a bound too", () => {
  const { capacity: subject, show } = capacityWorld();
  for (let number = 0; number < inAll; number += 1) show(object(number, "Pending", `dep-${number}`));
  expect(subject.fullBecause("dep-new")).toContain(`at most ${inAll}`);
});
