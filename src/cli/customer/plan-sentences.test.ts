import fc from "fast-check";
import { expect, test } from "vitest";
import { OPERATIONS } from "../../crds/operations/catalog.ts";
import { DEBUG_OPERATIONS } from "../../crds/operations/debug.ts";
import { MACHINE_OPERATIONS } from "../../crds/operations/machines.ts";
import { sentenceOf } from "./plan-sentences.ts";

const KNOWN = [...OPERATIONS, ...DEBUG_OPERATIONS, ...MACHINE_OPERATIONS].map(({ command }) => command);

test.each(KNOWN)("%s has a sentence of its own", (command) => {
  expect(sentenceOf({ command })).not.toContain("does not know");
});

test.each([
  [
    { command: "kubernetes/scale", params: { namespace: "shop", kind: "deployment", name: "web", replicas: 5 } },
    { replicas: 3 },
    "Sets a workload's replicas: deployment web in shop, replicas 3 → 5",
  ],
  [
    { command: "kubernetes/scale", params: { namespace: "shop", kind: "deployment", name: "web", replicas: 5 } },
    { replicas: 5 },
    "Sets a workload's replicas: deployment web in shop, replicas 5",
  ],
  [
    { command: "kubernetes/logs", params: { namespace: "shop", pod: "web-1", tailLines: 10 } },
    {},
    "Reads the log of a pod: pod web-1 in shop, tailLines 10",
  ],
  [{ command: "kubernetes/get-pods", params: { namespace: "shop" } }, {}, expect.stringMatching(/: namespace shop$/)],
  [
    { command: "acme/flush", params: { cache: ["a"] } },
    {},
    'Runs acme/flush, which this program does not know: cache ["a"]',
  ],
  [
    { command: "kubernetes/delete-pod", params: { namespace: "shop", pod: "a in shop, gently\nhash 0" } },
    {},
    'Deletes one pod, also one that nothing replaces: pod "a in shop, gently\\nhash 0" in shop',
  ],
] as const)("%j while %j", (line, current, sentence) => {
  expect(sentenceOf(line, current)).toEqual(sentence);
});

test("every parameter is in the sentence, also under names that the vendor has chosen", () => {
  const params = fc.dictionary(
    fc.stringMatching(/^p[a-z]{4,8}$/),
    fc.oneof(fc.stringMatching(/^[a-z0-9-]{1,8}$/), fc.integer()),
  );
  fc.assert(
    fc.property(fc.constantFrom(...KNOWN, "acme/flush"), params, params, (command, given, current) => {
      const sentence = sentenceOf({ command, params: given }, current);
      for (const [name, value] of Object.entries(given)) {
        const now = current[name];
        const from = now === undefined || String(now) === String(value) ? "" : `${now} → `;
        expect(sentence).toContain(`${name} ${from}${value}`);
      }
    }),
  );
});

test("a name that looks like words of the sentence stands in quotes", () => {
  const line = { command: "acme/flush", params: { "replicas 3 → 5, x": 1 } };
  expect(sentenceOf(line)).toMatch(/: "replicas 3 → 5, x" 1$/);
});
