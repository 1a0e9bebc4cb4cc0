import { describe, expect, test } from "vitest";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { RolloutAction } from "../../../crds/kinds/rollout.ts";
import { line } from "../../testing/release-cluster.ts";
import { RolloutWorld } from "../../testing/rollout-world.ts";
import { outdated } from "../hands/targets.ts";
import { backward, type Contents, type Course, forward } from "./intent.ts";

const DIGEST = `sha256:${"d".repeat(64)}`;
const OWN = [line("db", { frozen: true, version: "2" }), line("bucket", { frozen: true }), line("api")];
const FORMER = [line("db", { frozen: true }), line("account", { frozen: true }), line("api"), line("old")];

function contents(own: readonly ReleaseObject[], former: readonly ReleaseObject[]): Contents {
  const left = [line("left"), line("api"), line("elsewhere", { namespace: "closed" })];
  return {
    own: { name: "rel-2", digest: DIGEST, objects: own },
    former: { name: "rel-1", digest: DIGEST, objects: former },
    leftovers: [{ name: "rel-0", digest: DIGEST, objects: left }],
  };
}

function told({ intent, left }: Course): object {
  const names = (lines: readonly ReleaseObject[]) => lines.map(({ manifest }) => manifest.metadata.name).join(" ");
  return { objects: names(intent.objects), outdated: names(outdated(intent)), left: left.map(({ ref }) => ref) };
}

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
