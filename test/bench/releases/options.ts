export interface ReleasesOptions {
  wanted(name: string): boolean;
  /** Of one release. */
  readonly objects: number;
  /** Counted runs of each side, one uncounted before. */
  readonly runs: number;
  /** Promotions over the slow link, one after the other. */
  readonly promotions: number;
  /** Deployments of one platform, each with a manager of its own, that are promoted at once. */
  readonly followers: number;
  /** Of them in one cluster, with a real agent and operator. */
  readonly neighbours: number;
  readonly say: (line: string) => void;
}
