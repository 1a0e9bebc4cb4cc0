/** A row that may be told. */
export interface Candidate {
  /** 0 is the worst; a small whole number. */
  readonly rank: number;
  readonly bytes: number;
  /** Of `placeOf`. */
  readonly place: number;
}

export interface Room {
  readonly rows: number;
  readonly bytes: number;
}

/** Buckets of one rank: two of 60,000 rows that share one are then told apart by a sort of fifteen. */
const BUCKET_BITS = 12;
const PLACE_BITS = 32;

/** Where a row comes among those that are as well as it: a hash (FNV-1a) of what it is known by. */
export function placeOf(identity: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < identity.length; index += 1) {
    hash = Math.imul(hash ^ identity.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/**
 * The rows that are told when there is no room for all: the worst, and among those that are as well as each other the first
 * by their place. It depends on nothing else, not even on what was told before: the same rows are chosen at each look,
 * after a restart and by another replica, so that none comes and goes without a change. What comes after the first row
 * without room is left out too, or a small healthy one would be told in place of a large sick one.
 *
 * In buckets: a sort of all rows of a large deployment would hold up the event loop for 100 ms at each look.
 */
export function choiceOf<C extends Candidate>(candidates: readonly C[], room: Room): ReadonlySet<C> {
  const buckets = new Map<number, { rows: number; bytes: number }>();
  for (const each of candidates) {
    const bucket = buckets.get(bucketOf(each));
    if (bucket === undefined) buckets.set(bucketOf(each), { rows: 1, bytes: each.bytes });
    else {
      bucket.rows += 1;
      bucket.bytes += each.bytes;
    }
  }
  let [rows, bytes, cut] = [0, 0, Number.POSITIVE_INFINITY];
  for (const [index, bucket] of [...buckets].toSorted(([a], [b]) => a - b)) {
    if (rows + bucket.rows > room.rows || bytes + bucket.bytes > room.bytes) {
      cut = index;
      break;
    }
    rows += bucket.rows;
    bytes += bucket.bytes;
  }
  const chosen = new Set<C>();
  for (const each of candidates) if (bucketOf(each) < cut) chosen.add(each);
  for (const each of candidates.filter((one) => bucketOf(one) === cut).toSorted((a, b) => a.place - b.place)) {
    rows += 1;
    bytes += each.bytes;
    if (rows > room.rows || bytes > room.bytes) break;
    chosen.add(each);
  }
  return chosen;
}

function bucketOf({ rank, place }: Candidate): number {
  return rank * 2 ** BUCKET_BITS + (place >>> (PLACE_BITS - BUCKET_BITS));
}
