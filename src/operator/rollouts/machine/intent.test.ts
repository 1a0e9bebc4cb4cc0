import { describe, expect, test } from "vitest";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { RolloutAction } from "../../../crds/kinds/rollout.ts";
import { line } from "../../testing/release-cluster.ts";
import { RolloutWorld } from "../../testing/rollout-world.ts";
import type { Intent } from "../hands/hands.ts";
import { outdated } from "../hands/targets.ts";
import { backward, type Contents, forward } from "./intent.ts";

const DIGEST = `sha256:${"d".repeat(64)}`;
const OWN = [line("db", { frozen: true, version: "2" }), line("bucket", { frozen: true }), line("api")];
const FORMER = [line("db", { frozen: true }), line("account", { frozen: true }), line("api"), line("old")];

function contents(own: readonly ReleaseObject[], former: readonly ReleaseObject[]): Contents {
  const left = [line("left"), line("api"), line("elsewhere", { namespace: "closed" })];
  return {
    own: { name: "rel-2", digest: DIGEST, objects: own },
    former: { name: "rel-1", digest: DIGEST, objects: former },
    leftovers: [{ name: "rel-0", digest: DIGEST, objects: left }],
    unfinishedSince: "2026-01-01T00:00:00Z",
  };
}

function told(intent: Intent): object {
  const names = (lines: readonly ReleaseObject[]) => lines.map(({ manifest }) => manifest.metadata.name).join(" ");
  return { objects: names(intent.objects), outdated: names(outdated(intent)), left: intent.closed };
}

describe("a Job that the installed content has completed is not run again", () => {
  const job = (name: string, spec: object, frozen = false): ReleaseObject => ({
    ...line(name, { frozen }),
    manifest: { apiVersion: "batch/v1", kind: "Job", metadata: { name, namespace: "shop" }, spec: { ...spec } },
  });
  const FILL = job("fill", { a: 1 }, true);
  const HOOK = job("hook", { a: 1 });

  test.each<[string, readonly ReleaseObject[], readonly ReleaseObject[], readonly string[]]>([
    ["of the setup, and the same", [FILL, HOOK], [FILL, HOOK], ["fill", "hook"]],
    [
      "another one of the same name only if it is of the setup",
      [job("fill", { a: 2 }, true), job("hook", { a: 2 })],
      [FILL, HOOK],
      ["fill"],
    ],
    ["one that is new", [FILL], [HOOK], []],
    ["one that was suspended", [job("hook", { suspend: true })], [job("hook", { suspend: true })], []],
    ["what is no Job", [line("api", { frozen: true })], [line("api", { frozen: true })], []],
  ])("%s", (_, own, former, done) => {
    const rollout = new RolloutWorld().add("r", "update");
    const refs = done.map((name) => `Job.batch/shop/${name}`);
    expect(forward(rollout, contents(own, former), ["shop"]).done).toEqual(refs);
  });

  test("on the way back no Job of the former content is, and one of a rollout that failed is", () => {
    const rollout = new RolloutWorld().add("r", "update");
    const { former, ...both } = contents([FILL], [HOOK]);
    expect(backward(rollout, { ...both, former }, ["shop"]).done).toEqual(["Job.batch/shop/hook"]);
    const left = [{ name: "rel-0", digest: DIGEST, objects: [FILL] }];
    expect(forward(rollout, { ...both, former, leftovers: left }, ["shop"]).done).toEqual([]);
  });
});

test("what an earlier rollout has brought: forward also what one has left, and on the way back the former content", () => {
  const rollout = new RolloutWorld().add("r", "update");
  const both = contents(OWN, FORMER);
  const names = ({ installed }: Intent) => installed.map((ref) => ref.split("/").at(-1)).join(" ");
  expect(names(forward(rollout, both, ["shop"]))).toBe("db account api old left elsewhere");
  expect(names(backward(rollout, both, ["shop"]))).toBe("db account api old");
});

test("what came to no good end: forward what others have left, and on the way back what this rollout brought, too", () => {
  const rollout = { ...new RolloutWorld().add("r", "update"), status: { startedAt: "2026-02-01T00:00:00Z" } };
  const told = ({ unfinished }: Intent) => ({
    since: unfinished?.since,
    names: [...(unfinished?.refs ?? [])].map((ref) => ref.split("/").at(-1)).join(" "),
  });
  const both = contents(OWN, FORMER);
  const first = "2026-01-01T00:00:00Z";
  expect(told(forward(rollout, both, ["shop"]))).toEqual({ since: first, names: "left elsewhere" });
  expect(told(backward(rollout, both, ["shop"]))).toEqual({ since: first, names: "bucket left elsewhere" });
  const alone = { ...both, leftovers: [], unfinishedSince: undefined };
  expect(told(forward(rollout, alone, ["shop"]))).toEqual({ since: undefined, names: "" });
  expect(told(backward(rollout, alone, ["shop"]))).toEqual({ since: rollout.status.startedAt, names: "bucket" });
});

describe.each<RolloutAction>(["install", "update"])("an %s", (action) => {
  const rollout = new RolloutWorld().add("r", action);
  const closed = ["Deployment.apps/closed/elsewhere"];

  test("brings the whole content, with the setup, and what is beyond it goes where the deployment is accepted", () => {
    const outcome = told(forward(rollout, contents(OWN, FORMER), ["shop"]));
    expect(outcome).toEqual({ objects: "db bucket api", outdated: "account old left", left: closed });
  });

  test("goes back to the whole former content", () => {
    const outcome = told(backward(rollout, contents(OWN, FORMER), ["shop"]));
    expect(outcome).toEqual({ objects: "db account api old", outdated: "bucket left", left: closed });
  });
});
