import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { readOrder } from "./order/order.ts";
import type { OrderedFile } from "./order/order-files.ts";

/** Minutes long. vitest goes by size, and one that it left for the end would have the other core wait for it. */
const LONGEST = [
  "faults/story",
  "machines/fleet",
  "hostile",
  "npm-start",
  "rules-removed",
  "access-grants",
  "every-field",
  "every-route",
  "matrix",
];

/** What a file asks of its cluster: `{ controllers: true, holds: INSTALLED }`. */
const CLUSTER = /useCluster\(([^()]*)\)/;

/** The order that is asked for. Else files that ask for the same cluster one after the other, because a worker keeps one; among them the longest first. */
export class Sequencer extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const order = readOrder();
    if (order === undefined) {
      // What one file leaves for the next shows when each runs after others, and after itself.
      const sorted = byCluster(await super.sort(specifications));
      return process.env.SALLYPORT_TEST_TWICE === "1" ? [...sorted, ...sorted.toReversed()] : sorted;
    }
    const { files, deadline } = order;
    if (deadline !== undefined) {
      // Tests that run end, the others do not begin. vitest knows no other reason to stop in good order than a person's.
      const stop = () => void this.ctx.cancelCurrentRun("keyboard-input");
      setTimeout(stop, Math.max(0, deadline - Date.now())).unref();
    }
    return inOrder(specifications, files, this.ctx.config.root, clusterOf);
  }
}

function byCluster(specifications: readonly TestSpecification[]): TestSpecification[] {
  const clusters = new Map(specifications.map((each) => [each, clusterOf(each)]));
  const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(`/${name}.test.ts`));
  const compare = (one: TestSpecification, other: TestSpecification): number =>
    one.project.name.localeCompare(other.project.name) ||
    (clusters.get(one) ?? "").localeCompare(clusters.get(other) ?? "") ||
    Number(isLong(other)) - Number(isLong(one));
  return specifications.toSorted(compare);
}

function clusterOf({ moduleId }: Specification): string {
  return CLUSTER.exec(readFileSync(moduleId, "utf8"))?.[1] ?? "";
}

interface Specification {
  readonly moduleId: string;
  readonly project: { readonly name: string };
}

/**
 * Those of `files` alone. Among those that run for the same reason, a project's stand together, and of them those that ask
 * for the same cluster: a worker, with all that it has loaded, is kept only while the next file is of the same project, and
 * it keeps one cluster.
 */
export function inOrder<T extends Specification>(
  specifications: readonly T[],
  files: readonly OrderedFile[],
  root: string,
  clusterOf: (specification: T) => string,
): T[] {
  const byFile = new Map(specifications.map((each) => [relative(root, each.moduleId), each]));
  const groups = new Map<string, T[]>();
  for (const { file, reason } of files) {
    const found = byFile.get(file);
    if (found === undefined) continue;
    const group = `${reason} ${found.project.name} ${clusterOf(found)}`;
    groups.set(group, [...(groups.get(group) ?? []), found]);
  }
  return [...groups.values()].flat();
}
