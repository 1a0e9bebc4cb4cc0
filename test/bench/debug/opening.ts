import { objectName } from "../../../src/crds/group.ts";
import { type DebugSession, debugSessions } from "../../../src/crds/kinds/debug-session.ts";
import { GRANTS, People } from "../../world/people.ts";
import { type Row, spread } from "../table.ts";
import { watched } from "../watched.ts";
import { granted, opened } from "./engineer.ts";
import type { DebugOptions } from "./options.ts";
import { wayOf } from "./ways.ts";
import type { DebugWorld } from "./world.ts";

const GOAL_MS = 1_500;
/** What is seen on the way, in this order. */
const STAGES = ["asked", "created", "opening", "open", "claimed", "attached", "printed", "answered"] as const;
type Stage = (typeof STAGES)[number];

/** `sallyport debug open` with a grant in hand, from its start to the end of kubectl's first `get pods`, whose cache is empty. */
export async function opening(world: DebugWorld, { opens, say }: DebugOptions, signal: AbortSignal): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const watched = await watch(stack, world, signal);
  say(`debug: ${opens} sessions, one after the other`);
  const took = new Map(STAGES.map((stage) => [stage, [] as number[]]));
  for (let round = -1; round < opens; round += 1) {
    const grant = await granted(world, "read", signal);
    const startedMs = performance.now();
    const session = await opened(world, grant, signal);
    const way = wayOf(world, `first-${round}`, session.kubeconfig);
    await way.kubectl(["get", "pods"]).done();
    const answered = performance.now() - startedMs;
    await session.close();
    const seen = watched(session.id);
    const at: Record<Stage, number> = { ...session.stages, answered, ...within(seen, startedMs) };
    // The first warms the processes up.
    if (round >= 0) for (const stage of STAGES) took.get(stage)?.push(at[stage]);
    say(`debug: ${STAGES.map((stage) => `${stage} ${at[stage].toFixed(0)}`).join(", ")} ms`);
  }
  const spreads = STAGES.map((stage) => [stage, spread(took.get(stage) ?? [])] as const);
  const all = spread(took.get("answered") ?? []);
  return [
    {
      what: "debug open with a grant in hand → kubectl's first answer",
      measured: `median ${all.median.toFixed(0)} ms, p99 ${all.p99.toFixed(0)} ms (${spreads.map(([stage, { median }]) => `${stage} ${median.toFixed(0)}`).join(", ")})`,
      goal: `p99 ${GOAL_MS} ms`,
      reached: all.p99 <= GOAL_MS,
      figures: Object.fromEntries(spreads),
    },
  ];
}

type InCluster = "created" | "opening" | "open" | "claimed";

function within(seen: Readonly<Record<InCluster, number>>, startedMs: number): Record<InCluster, number> {
  const since = (stage: InCluster): number => seen[stage] - startedMs;
  return { created: since("created"), opening: since("opening"), open: since("open"), claimed: since("claimed") };
}

/** When the API server showed each step of a session. */
async function watch(stack: AsyncDisposableStack, { cluster }: DebugWorld, signal: AbortSignal) {
  const client = await stack.use(new People(cluster)).admin();
  const informer = await watched<DebugSession>(stack, client, debugSessions, GRANTS, signal);
  const all = new Map<string, Partial<Record<InCluster, number>>>();
  informer.onChange(({ object: { metadata, status } }) => {
    const seen = all.get(metadata.name) ?? {};
    all.set(metadata.name, seen);
    const now = performance.now();
    seen.created ??= now;
    if (status?.state === "Opening" || status?.state === "Open") seen.opening ??= now;
    if (status?.state === "Open") seen.open ??= now;
    if (status?.tunnel !== undefined) seen.claimed ??= now;
  });
  return (id: string): Record<InCluster, number> => {
    const none = { created: Number.NaN, opening: Number.NaN, open: Number.NaN, claimed: Number.NaN };
    return { ...none, ...all.get(objectName(id)) };
  };
}
