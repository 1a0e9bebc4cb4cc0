import { expect, test } from "vitest";
import { MAX_OPEN } from "../crds/open-cap.ts";
import { FakeClock } from "../kube/testing/fake-clock.ts";
import { Room } from "./room.ts";

const object = (number: number, state?: string, deploymentId = "dep-1") => ({
  metadata: { name: `ar-${number}` },
  spec: { deploymentId },
  ...(state !== undefined && { status: { state } }),
});
type Shown = ReturnType<typeof object>;
const { ofDeployment, inAll } = MAX_OPEN;

function room() {
  const clock = new FakeClock();
  const shown: Shown[] = [];
  return { clock, shown, room: new Room<Shown>({ clock, all: () => shown }) };
}

test("four hundred requests become as many grants as the cap says, though the cache shows none of them yet", () => {
  const { room: subject } = room();
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
  const { room: subject, shown, clock } = room();
  for (let number = 0; number < ofDeployment; number += 1) subject.made(object(number));
  for (let number = 0; number < ofDeployment - 2; number += 1) shown.push(object(number, "Approved"));
  expect(subject.fullBecause("dep-1")).toBeDefined();
  shown[0] = object(0, "Completed");
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
  const { room: subject, shown } = room();
  for (let number = 0; number < inAll; number += 1) shown.push(object(number, "Pending", `dep-${number}`));
  expect(subject.fullBecause("dep-new")).toContain(`at most ${inAll}`);
});
