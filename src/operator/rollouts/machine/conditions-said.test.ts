import { expect, test } from "vitest";
import { line } from "../../testing/release-cluster.ts";
import { RELEASES_AUTO, RolloutWorld } from "../../testing/rollout-world.ts";

const REF = "Deployment.apps/shop/api";

function asked(world = new RolloutWorld()): RolloutWorld {
  world.addContent("rel-1", [line("api")]);
  world.add("a", "install", "rel-1");
  return world;
}

const override = (field: string) => ({ ref: REF, field, manager: "theirs" });

test.each<[string, readonly string[], string]>([
  ["nothing", [], "the release has all of its fields"],
  ["replicas", [".spec.replicas"], "the release has all of its fields but replicas, which stay as others have them"],
  [
    "another field",
    [".spec.replicas", ".spec.paused"],
    `1 field left as others have set them: ${REF} .spec.paused: of theirs`,
  ],
])("where others own %s, Overridden says so", async (_, fields, message) => {
  const it = asked();
  const { plan } = it.ports.hands;
  it.hands = {
    plan: async (...given) => {
      const planned = await plan(...given);
      return { ...planned, plan: { ...planned.plan, overrides: fields.map(override) } };
    },
  };
  await it.untilState("a", "AwaitingApproval");
  expect(it.message("a", "Overridden")).toBe(message);
});

test("a pause is said while it waits for its approval, as long as it lasts", async () => {
  const it = asked();
  await it.untilState("a", "AwaitingApproval");
  expect(it.reason("a", "Applied")).toBe("nothing");
  it.say("a", { pausedReason: "peak hours" });
  await it.look("a");
  expect([it.reason("a", "Applied"), it.message("a", "Applied")]).toEqual(["False/Paused", "paused: peak hours"]);
  it.say("a", { pausedReason: undefined } as never);
  await it.look("a");
  expect([it.state("a"), it.reason("a", "Applied")]).toEqual(["AwaitingApproval", "Unknown/PlannedAgain"]);
});

test("a pause is said also while objects of the customer are in the way", async () => {
  const it = asked();
  it.cluster.objects.set(REF, { line: line("api"), isOurs: false });
  it.say("a", { pausedReason: "peak hours" });
  await it.untilState("a", "AwaitingApproval");
  await it.look("a");
  expect([it.reason("a", "Planned"), it.reason("a", "Applied")]).toEqual(["False/NotOurs", "False/Paused"]);
});

test("what is Unknown when a rollout ends is not said any more", async () => {
  const it = asked();
  await it.untilState("a", "AwaitingApproval");
  it.add("b", "install", "rel-1");
  it.policies = [{ spec: RELEASES_AUTO }];
  it.occasions.push({ name: "b", state: "Gating", say: () => it.accept([]) });
  await it.untilState("b", "Failed");
  expect(it.state("a")).toBe("Superseded");
  expect(it.reason("b", "Applied")).toBe("False/NamespaceClosed");
  const all = ["a", "b"].flatMap((name) => it.rollout(name).status?.conditions ?? []);
  expect(all.filter(({ status }) => status === "Unknown")).toEqual([]);
});

test("what takeOver names and the release does not have is told, in a plan and while objects are in the way", async () => {
  const it = asked();
  const web = Array.from({ length: 6 }, (_, index) => ({ kind: "ConfigMap", name: `web-${index}` }));
  it.say("a", { takeOver: [{ kind: "Deployment", name: "api" }, ...web] });
  await it.untilState("a", "AwaitingApproval");
  const told =
    "; spec.takeOver names what the release does not have: ConfigMap/web-0; ConfigMap/web-1; ConfigMap/web-2; ConfigMap/web-3; ConfigMap/web-4; and 1 more";
  expect(it.message("a", "Planned")).toBe(`creates 1, changes 0, deletes 0, leaves 0 as they are${told}`);
  const other = asked();
  other.cluster.objects.set(REF, { line: line("api"), isOurs: false });
  other.say("a", { takeOver: web });
  await other.untilState("a", "AwaitingApproval");
  expect(other.message("a", "Planned")).toContain(`${REF}: NotOurs${told}`);
});
