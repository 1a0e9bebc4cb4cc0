import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { helmProgram, runHelm } from "../../chart/helm.ts";
import { SHOP } from "../../world/people.ts";
import { type Row, spread } from "../table.ts";
import { told } from "./installing.ts";
import { mixedResources, rendered } from "./objects.ts";
import type { ReleasesOptions } from "./options.ts";
import { DEPLOYMENT_ID, type ReleaseWorld } from "./world.ts";

const GOAL_S = 2;
const HELM_MS = 600_000;
/** Requests with which an account of a rollout would change an object of a release. */
const OURS = "system:serviceaccount:sallyport-grants:rollout-";

/** A release that is there already: nothing is written. Beside an upgrade of a chart with the very same objects. */
export async function unchanged(world: ReleaseWorld, options: ReleasesOptions, signal: AbortSignal): Promise<Row> {
  const { objects: count, runs, say } = options;
  const objects = rendered(mixedResources(count), DEPLOYMENT_ID, "1.0.0");
  await world.clean();
  await world.roll(objects, "install", "1.0.0");
  const [times, kubectl]: [number[], number[]] = [[], []];
  let [written, calls] = [0, 0];
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects.map(({ manifest }) => manifest) });
  for (let round = 0; round <= runs; round += 1) {
    const [before, callsBefore] = [await world.versions(), await world.calls("sallyport")];
    const course = await world.roll(objects, "update", "1.0.0");
    calls = (await world.calls("sallyport")) - callsBefore;
    const changed = changes(before, await world.versions());
    written += changed;
    const startedMs = performance.now();
    await world.kubectl(["apply", "--server-side", "-f", "-", "--field-manager=sallyport-release"], stdin);
    const peer = (performance.now() - startedMs) / 1_000;
    say(
      `equal rollout ${round} of ${runs}: ${course.ended.toFixed(2)} s, ${changed} written, ${calls} calls (${told(course)}); kubectl apply ${peer.toFixed(2)} s`,
    );
    if (round === 0 && runs > 0) continue;
    times.push(course.ended);
    kubectl.push(peer);
  }
  const patches = await world.calls(OURS, '"verb":"patch"', '"code":200');
  await world.clean();
  const helm = await helmUpgrades(
    world,
    objects.map(({ manifest }) => manifest),
    options,
    signal,
  );
  await world.clean();
  const [ours, apply] = [spread(times), spread(kubectl)];
  return {
    what: `a rollout of ${count} objects that are there as they are`,
    measured:
      `${ours.median.toFixed(2)} s, ${written} written, ${calls} calls; ` +
      `helm upgrade ${helm.times.median.toFixed(2)} s, ${helm.written} written; kubectl apply ${apply.median.toFixed(2)} s`,
    goal: `at most ${GOAL_S} s, none written`,
    reached: ours.median <= GOAL_S && written === 0,
    figures: { ours, written, calls, patches, helm, kubectl: apply },
  };
}

/** Seconds of upgrades that change nothing, and how many objects they wrote all the same. */
async function helmUpgrades(
  world: ReleaseWorld,
  manifests: readonly object[],
  { runs, say }: ReleasesOptions,
  signal: AbortSignal,
) {
  const helm = await helmProgram(say, signal);
  const home = await mkdtemp(join(tmpdir(), "sallyport-bench-helm-"));
  try {
    const chart = join(home, "shop");
    await mkdir(join(chart, "templates"), { recursive: true });
    await writeFile(join(chart, "Chart.yaml"), "apiVersion: v2\nname: shop\nversion: 1.0.0\n");
    for (const [index, manifest] of manifests.entries()) {
      await writeFile(join(chart, "templates", `${index}.yaml`), JSON.stringify(manifest));
    }
    const to = ["shop", chart, "-n", SHOP, "--kubeconfig", world.cluster.adminKubeconfig, "--wait", "--timeout", "10m"];
    const run = async (...args: readonly string[]): Promise<number> => {
      const startedMs = performance.now();
      const { code, stderr } = await runHelm(helm, args, home, HELM_MS);
      if (code !== 0) throw new Error(`helm ${args[0]}: ${stderr}`);
      return (performance.now() - startedMs) / 1_000;
    };
    await run("install", ...to);
    const times: number[] = [];
    let written = 0;
    for (let round = 0; round <= runs; round += 1) {
      const before = await world.versions();
      const seconds = await run("upgrade", ...to);
      const changed = changes(before, await world.versions());
      say(`helm upgrade ${round} of ${runs}: ${seconds.toFixed(2)} s, ${changed} written`);
      written += changed;
      if (round > 0 || runs === 0) times.push(seconds);
    }
    await run("uninstall", "shop", "-n", SHOP, "--kubeconfig", world.cluster.adminKubeconfig);
    return { times: spread(times), written };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function changes(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): number {
  return [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name))
    .length;
}
