import { afterAll, beforeAll } from "vitest";
import { type Cluster, type ClusterOptions, type Manifest, startCluster } from "./cluster.ts";
import { KeptCluster } from "./kept-cluster.ts";

export interface FileOptions extends ClusterOptions {
  /**
   * What is in the cluster before the first test: applied once a worker, and left alone from one file to the next that holds
   * it too. @default nothing
   */
  readonly holds?: readonly Manifest[];
  /** A control plane of the file's own: for a test that kills its programs or looks at their logs. @default false */
  readonly isOwn?: boolean;
}

/** Ten minutes: the first run on a machine builds the programs. */
const START_LIMIT_MS = 600_000;

/** One a worker: its files come in an order in which the kind of cluster changes seldom (scripts/test-run/sequencer.ts). */
let kept: { readonly shape: string; readonly cluster: KeptCluster; isTaken: boolean } | undefined;

/**
 * A cluster for the test file that calls it: the worker's kept one, put back, or one of its own, stopped after the last test.
 * Returns a function, because the cluster exists only once the tests run.
 */
export function useCluster({ holds = [], isOwn = false, ...options }: FileOptions = {}): () => Cluster {
  let cluster: Cluster | undefined;
  let giveBack: () => Promise<void> | void = () => undefined;
  beforeAll(async () => {
    const signal = AbortSignal.timeout(START_LIMIT_MS);
    if (isOwn || !KeptCluster.serves(options) || kept?.isTaken === true) {
      const own = await startCluster(options, signal);
      giveBack = () => own.stop();
      await own.apply(holds, signal);
      cluster = own;
      return;
    }
    const taken = await takeKept(options, holds, signal);
    giveBack = () => {
      taken.isTaken = false;
    };
    try {
      await taken.cluster.hold(holds, signal);
    } catch (error) {
      // The next file gets a new one, and fails for no fault of this one.
      kept = undefined;
      await taken.cluster.cluster.stop();
      throw error;
    }
    cluster = taken.cluster.cluster;
  }, START_LIMIT_MS);
  afterAll(() => giveBack());
  return () => {
    if (cluster === undefined) throw new Error("the cluster starts in beforeAll: use it inside of tests");
    return cluster;
  };
}

async function takeKept(
  options: ClusterOptions,
  holds: readonly Manifest[],
  signal: AbortSignal,
): Promise<NonNullable<typeof kept>> {
  const shape = JSON.stringify([options.controllers === true, options.kwok]);
  if (kept?.shape !== shape || !kept.cluster.isRunning) {
    const before = kept;
    kept = undefined;
    await before?.cluster.cluster.stop();
    kept = { shape, cluster: await KeptCluster.start(options, holds, signal), isTaken: true };
  }
  kept.isTaken = true;
  return kept;
}
