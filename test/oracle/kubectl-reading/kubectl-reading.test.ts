import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { isFull } from "../../../src/base/testing/full.ts";
import { OTHER, SAME } from "./cases.ts";
import { yamlValue } from "./generated-yaml.ts";
import { kubectlPath, kubectlReadsEach, type Reading, sallyportReads } from "./kubectl-reads.ts";

let program = "";
beforeAll(async () => {
  program = await kubectlPath(new AbortController().signal);
}, 600_000);

/** A text may be bytes; the name of its objects is that of the case. */
function named(text: string | Buffer, name: string): string | Buffer {
  if (typeof text === "string") return text.replaceAll("NAME", name);
  const encoded = (word: string, isBig: boolean): Buffer => {
    const bytes = Buffer.from(word, "utf16le");
    return isBig ? bytes.swap16() : bytes;
  };
  const isBig = text[0] === 0xfe;
  const at = text.indexOf(encoded("NAME", isBig));
  return Buffer.concat([text.subarray(0, at), encoded(name, isBig), text.subarray(at + 8)]);
}

async function bothRead(
  texts: readonly (string | Buffer)[],
): Promise<readonly (readonly [Reading, ReturnType<typeof sallyportReads>])[]> {
  const files = new Map(texts.map((text, at) => [`c${at}x`, named(text, `c${at}x`)]));
  const kubectl = await kubectlReadsEach(program, files);
  return [...files].map(([name, text]) => [
    kubectl.get(name) ?? { objects: [], isRefused: true },
    sallyportReads(text),
  ]);
}

test("what people and generators write is read as kubectl reads it", async () => {
  const read = await bothRead(SAME.map(([, text]) => text));
  for (const [at, [kubectl, { objects, faults }]] of read.entries()) {
    const what = SAME[at]?.[0];
    expect([what, kubectl.isRefused, faults, objects]).toEqual([what, false, [], kubectl.objects]);
  }
});

test("what is read otherwise than by kubectl is refused in words, or is read where kubectl refuses or drops it", async () => {
  const read = await bothRead(OTHER.map(([, text]) => text));
  for (const [at, [kubectl, { objects, faults }]] of read.entries()) {
    const [what, , does, here] = OTHER[at] ?? [];
    const found = kubectl.isRefused ? "refuses" : kubectl.objects.length < 2 && does === "drops" ? "drops" : "takes";
    expect([what, found]).toEqual([what, does]);
    if (here === "takes") expect([what, faults, objects.length]).toEqual([what, [], does === "drops" ? 2 : 1]);
    else expect(faults[0]).toMatch(here ?? "");
  }
});

const BATCH = 250;

test("property: a value in any style is what it is to kubectl, or is refused: never another one", async () => {
  let same = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(yamlValue, { minLength: BATCH, maxLength: BATCH }), async (values) => {
      const texts = values.map((value) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\nvalue:${value}`);
      const read = await bothRead(texts);
      for (const [at, [kubectl, { objects, isRefused }]] of read.entries()) {
        if (kubectl.isRefused) continue;
        if (isRefused) refused += 1;
        else {
          expect([values[at], objects]).toEqual([values[at], kubectl.objects]);
          same += 1;
        }
      }
    }),
    { numRuns: isFull ? 40 : 2, endOnFailure: true },
  );
  expect(same).toBeGreaterThan(BATCH / 2);
  // Of what people do not write: see the cases above.
  expect(refused).toBeLessThan(same / 10);
}, 600_000);
