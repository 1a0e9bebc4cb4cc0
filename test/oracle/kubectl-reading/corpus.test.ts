import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { fullOnly } from "../../../src/base/testing/full.ts";
import { manifestFiles } from "./corpus.ts";
import { kubectlPath, kubectlReads, sallyportReads } from "./kubectl-reads.ts";

/** Of one call of kubectl. */
const BATCH = 50;

fullOnly(
  "every manifest in the packages of others that this machine has is read as kubectl reads it",
  async () => {
    const program = await kubectlPath(new AbortController().signal);
    const read = manifestFiles().map((path) => ({ path, ...sallyportReads(readFileSync(path)) }));
    const different: string[] = [];
    let same = 0;
    const compare = async (batch: typeof read): Promise<void> => {
      const kubectl = await kubectlReads(
        program,
        batch.map(({ path }) => path),
      );
      const objects = batch.flatMap((each) => each.objects);
      const isSame =
        !kubectl.isRefused && batch.every(({ faults }) => faults.length === 0) && isEqual(objects, kubectl.objects);
      const [only] = batch;
      if (isSame) same += batch.length;
      else if (batch.length > 1) for (const each of batch) await compare([each]);
      else if (!kubectl.isRefused && only !== undefined) different.push(`${only.path} ${only.faults[0] ?? ""}`);
    };
    // Others are of no kind, or are meant to be refused: each by itself.
    const isLikely = ({ objects, isRefused }: (typeof read)[number]): boolean => !isRefused && objects.every(hasName);
    const likely = read.filter(isLikely);
    for (let at = 0; at < likely.length; at += BATCH) await compare(likely.slice(at, at + BATCH));
    for (const each of read.filter((one) => !isLikely(one))) await compare([each]);
    expect(different).toEqual([]);
    // The module cache of Go has those of Kubernetes itself.
    expect(same).toBeGreaterThan(read.length / 2);
  },
  1_800_000,
);

function hasName(object: unknown): boolean {
  return typeof Reflect.get(Reflect.get(Object(object), "metadata") ?? {}, "name") === "string";
}

function isEqual(one: unknown, other: unknown): boolean {
  try {
    expect(one).toEqual(other);
    return true;
  } catch {
    return false;
  }
}
