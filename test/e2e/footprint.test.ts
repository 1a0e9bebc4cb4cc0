import { expect, test } from "vitest";
import { eventually } from "../world/wait.ts";
import { type Pod, soon, useCast } from "./cast.ts";
import { kubectl } from "./kubectl.ts";

const cast = useCast();

interface Summary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string };
    readonly containers?: readonly { readonly memory?: { readonly workingSetBytes?: number } }[];
  }[];
}

/** The memory that a limit counts, as the kubelet measures it every 10 s or so. */
async function workingSetBytes({ metadata, spec }: Pod): Promise<number | undefined> {
  const path = `/api/v1/nodes/${spec.nodeName}/proxy/stats/summary`;
  const summary: Summary = JSON.parse(await kubectl(cast().scene, ["get", "--raw", path], soon()));
  const found = summary.pods.find(({ podRef }) => podRef.name === metadata.name);
  return found?.containers?.[0]?.memory?.workingSetBytes;
}

// The product promises these limits.
test.each([
  ["operator", 100],
  ["agent", 150],
] as const)("the %s at rest needs less than %d MiB", async (process, limitMebibytes) => {
  const pods = await cast().pods(process);
  for (const pod of pods) {
    const bytes = await eventually(
      () => workingSetBytes(pod),
      (found) => found > 0,
      60_000,
    );
    const mebibytes = Math.round(bytes / 1024 ** 2);
    console.log(`${pod.metadata.name}: ${mebibytes} MiB`);
    expect(mebibytes).toBeLessThan(limitMebibytes);
  }
});

test("the image is small", () => {
  expect(cast().scene.image.sizeBytes / 1e6).toBeLessThan(250);
});
