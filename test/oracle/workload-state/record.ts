import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startCluster } from "../../../lab/cluster/cluster.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { connect } from "../../../src/kube/client/connection.ts";
import { batch, others } from "./record/batch.ts";
import { compact, signature } from "./record/compact.ts";
import { deployments, replicaSets } from "./record/deployments.ts";
import { Kubelets } from "./record/kubelet.ts";
import { daemonSets, statefulSets } from "./record/sets.ts";
import { type Sight, Stage } from "./record/stage.ts";
import { type Seen, World } from "./record/world.ts";
import { type Recorded, readRecorded } from "./recorded.ts";

const SCENES = [...deployments, ...replicaSets, ...statefulSets, ...daemonSets, ...batch, ...others];
/** Scenes at the same time: two cores play them. */
const AT_ONCE = 12;
/** States on the way that are kept of one object, spread over its life. */
const ON_THE_WAY = 4;

/**
 * Plays each scene on a real API server with its controllers, and writes what the server said of the objects: one JSON
 * line an object, in `recorded.jsonl` beside this file.
 *
 * @param names of scenes that are played again, while the lines of all others stay; none means all.
 */
export async function record(
  names: readonly string[],
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  await using cluster = await startCluster({ controllers: true }, signal);
  const connection = await connect({ kubeconfig: cluster.adminKubeconfig });
  const client = new Client(connection);
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const onTheWay: Sight[] = [];
  const world = new World(client, both);
  await world.start((object) => {
    if (object.kind !== "Pod" && object.metadata.namespace !== undefined) {
      onTheWay.push({ step: `${object.metadata.namespace}/~`, at: new Date().toISOString(), object });
    }
  });
  const kubelets = new Kubelets(client, world, both);
  for (const node of ["node-1", "node-2", "node-3"]) await kubelets.addNode(node);
  const running = kubelets.run().catch((error: unknown) => {
    if (!both.aborted) throw error;
  });
  const stages: Stage[] = [];
  const failed: string[] = [];
  const waiting = SCENES.filter(({ name }) => names.length === 0 || names.includes(name));
  const play = async (): Promise<void> => {
    for (let scene = waiting.shift(); scene !== undefined; scene = waiting.shift()) {
      const stage = new Stage(scene.name, world, kubelets, both);
      stages.push(stage);
      await stage.open();
      await scene.play(stage).then(
        () => say(`${scene.name}: ${stage.lines.length} objects`),
        (error: unknown) => {
          failed.push(scene.name);
          say(`${scene.name} failed: ${String(error)}`);
        },
      );
    }
  };
  // Minutes long, because a CronJob runs once a minute: begun first.
  waiting.sort((a, b) => Number(b.name.startsWith("cron-")) - Number(a.name.startsWith("cron-")));
  await Promise.all(Array.from({ length: AT_ONCE }, play));
  const lines = chosen(
    stages.flatMap((stage) => stage.lines),
    onTheWay,
  );
  const kept = names.length === 0 ? [] : readRecorded().filter((line) => !names.includes(sceneOf(line)));
  const file = join(import.meta.dirname, "recorded.jsonl");
  writeFileSync(
    file,
    `${inOrder([...kept, ...lines])
      .map((line) => JSON.stringify(line))
      .join("\n")}\n`,
  );
  say(`${kept.length + lines.length} objects in ${file}`);
  stop.abort();
  await running;
  await connection.close();
  if (failed.length > 0) throw new Error(`scenes failed: ${failed.join(", ")}`);
}

/** All marked objects, and of the states on the way the ones that differ from all others of their object. */
function chosen(marked: readonly Sight[], onTheWay: readonly Sight[]): readonly Recorded[] {
  const namespaces = new Set(marked.map(({ step }) => step.split("/")[0]));
  const known = new Set(marked.map(({ object }) => signature(object)));
  const between = new Map<string, Sight[]>();
  for (const sight of onTheWay) {
    const [namespace = ""] = sight.step.split("/");
    const { kind, metadata } = sight.object;
    const isOwned = (metadata.ownerReferences ?? []).length > 0;
    const text = signature(sight.object);
    if (!namespaces.has(namespace) || isOwned || known.has(text)) continue;
    known.add(text);
    const key = `${namespace}/${kind}/${metadata.name}`;
    between.set(key, [...(between.get(key) ?? []), sight]);
  }
  return merged([...marked, ...[...between.values()].flatMap(spread)]);
}

/** At most {@link ON_THE_WAY}, from beginning to end. */
function spread(sights: readonly Sight[]): readonly Sight[] {
  const slot = (at: number): number => Math.floor((at * ON_THE_WAY) / sights.length);
  return sights.filter((_, at) => sights.length <= ON_THE_WAY || slot(at) !== slot(at - 1));
}

/** An object that did not change from one step to another is one line. */
function merged(sights: readonly Sight[]): readonly Recorded[] {
  const lines = new Map<string, { at: Record<string, string>; object: Seen }>();
  for (const { step, at, object } of sights) {
    const key = `${object.metadata.uid}/${object.metadata.resourceVersion}/${step.endsWith("~")}`;
    const line = lines.get(key) ?? { at: {}, object: compact(object) };
    lines.set(key, { ...line, at: { ...line.at, [step]: at } });
  }
  return [...lines.values()];
}

function inOrder(lines: readonly Recorded[]): readonly Recorded[] {
  const order = ({ at }: Recorded): string => Object.entries(at).flat().join();
  return lines.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
}

function sceneOf({ at }: Recorded): string {
  return Object.keys(at)[0]?.split("/")[0] ?? "";
}
