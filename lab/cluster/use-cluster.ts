import { afterAll, beforeAll } from "vitest";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";

/**
 * Starts one cluster for the test file that calls it, and stops it after the last test. Returns a function, because the
 * cluster exists only once the tests run.
 */
export function useCluster(options: ClusterOptions = {}): () => Cluster {
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    cluster = await startCluster(options);
    // Ten minutes: the first run on a machine builds the programs.
  }, 600_000);
  afterAll(async () => {
    await cluster?.stop();
  });
  return () => {
    if (cluster === undefined) throw new Error("the cluster starts in beforeAll: use it inside of tests");
    return cluster;
  };
}
