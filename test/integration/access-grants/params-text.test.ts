import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { runs } from "../../../src/base/testing/runs.ts";
import { HUMAN_TEXT } from "../../../src/contract/wire/schema.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { checkParams, checkSizes } from "../../../src/platform/areas/operations/params/params.ts";
import { shownLength } from "../../../src/platform/areas/operations/params/shown-length.ts";
import { INSTALLED } from "../../world/installation.ts";

/** The platform's rule for text in params (§0.1). */
const PLATFORM = new RegExp(HUMAN_TEXT, "u");
const REFUSAL = "params hold control, zero-width or bidirectional characters";
const cluster = useCluster({ holds: INSTALLED });

/** Undefined when the API server would store it. */
async function refusal(params: object): Promise<string | undefined> {
  const spec = {
    commandId: "text",
    deploymentId: "dep-1",
    plugin: "kubernetes",
    operation: "restart-pod",
    tier: "mutating",
    attempt: 1,
    params,
  };
  const { status, body } = await cluster().request({
    method: "POST",
    path: `/apis/sallyport.dev/v1alpha1/namespaces/${DEFAULT_NAMES.grantsNamespace}/operationinvocations?dryRun=All`,
    body: {
      apiVersion: "sallyport.dev/v1alpha1",
      kind: "OperationInvocation",
      metadata: { name: "text", namespace: DEFAULT_NAMES.grantsNamespace },
      spec: { ...spec, deadline: new Date(Date.now() + 3_600_000).toISOString() },
    },
  });
  return status === 201 ? undefined : JSON.stringify(body);
}

beforeAll(async () => {
  const namespaces = [DEFAULT_NAMES.systemNamespace, DEFAULT_NAMES.grantsNamespace];
  const made = namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  await cluster().apply([...made, ...INSTALLED]);
});

const ODD = /[\p{C}\p{Z}\u115f\u1160\u3164\uffa0]/u;
const odd = (from: number, to: number): string[] => {
  const found: string[] = [];
  for (let codePoint = from; codePoint <= to; codePoint += 1) {
    const character = String.fromCodePoint(codePoint);
    if (ODD.test(character) && character.isWellFormed()) found.push(character);
  }
  return found;
};

it("stores whatever odd character the platform lets pass", async () => {
  // Half of a plane is unassigned; one line of params holds some hundred of these characters as the policy counts them.
  const allowed = [...odd(0, 0xffff), ...odd(0x1f000, 0x1fbff), ...odd(0x2fa00, 0x2fb00)].filter((character) =>
    PLATFORM.test(character),
  );
  expect(allowed).toEqual(expect.arrayContaining(["\u00a0", "\u2007", "\u3000", "\u0378"]));
  for (let at = 0; at < allowed.length; at += 600) {
    const text = allowed.slice(at, at + 600).join("");
    expect(await refusal({ text }), `from ${text.codePointAt(0)?.toString(16)}`).toBeUndefined();
  }
});

it("refuses every character that the platform refuses, also in keys", async () => {
  const refused = [...odd(0, 0xdfff), ...odd(0xfe00, 0xffff), ...odd(0x11000, 0x1d200), ...odd(0xe0000, 0xe0080)]
    .filter((character) => !PLATFORM.test(character))
    .concat("\ue000", "\uf8ff", "\u{f0000}", "\u{10fffd}");
  expect(refused.length).toBeGreaterThan(200);
  for (const character of refused) {
    expect(await refusal({ text: `a${character}b` }), character.codePointAt(0)?.toString(16)).toContain(REFUSAL);
  }
  for (const character of ["\u200b", "\u{e0041}"]) expect(await refusal({ [`a${character}`]: 1 })).toContain(REFUSAL);
});

const BOUND = 8192;
const TOO_LONG = "params of one command may not exceed 8192 characters";
/** Filled up to that many characters as the platform counts. */
const filledTo = (length: number, params: object): object => ({
  ...params,
  z: "x".repeat(length - shownLength({ ...params, z: "" })),
});

it.each<[string, object]>([
  ["nothing else", {}],
  ["what a key holds", { 'a"\\\n\t\u00a0é\u{1f600}': 1 }],
  ["numbers", { a: [0, -1, 9007199254740991, 0.5, -0.25, 1e-4, 123456.5, 5e-324, -4503599627370495.5] }],
  ["words", { a: true, b: [false, null] }],
  ["what is nested", { a: [], b: {}, c: [[], [{}], { d: [1, 2, { e: "f", g: "h" }] }] }],
])("counts as the platform counts: %s", async (_, params) => {
  expect(await refusal(filledTo(BOUND, params))).toBeUndefined();
  expect(await refusal(filledTo(BOUND + 1, params))).toContain(TOO_LONG);
});

it("counts whatever prints as the platform counts it", async () => {
  const printing: string[] = [];
  for (let code = 0x20; code <= 0x10ffff; code += 1) {
    const character = code >= 0xd800 && code <= 0xdfff ? "" : String.fromCodePoint(code);
    if (shownLength(character) === 3 && PLATFORM.test(character)) printing.push(character);
  }
  expect(printing.length).toBeGreaterThan(100_000);
  for (let at = 0; at < printing.length; at += 8000) {
    const text = printing.slice(at, at + 8000).join("");
    expect(await refusal(filledTo(BOUND, { text })), `from ${text.codePointAt(0)?.toString(16)}`).toBeUndefined();
    expect(await refusal(filledTo(BOUND + 1, { text }))).toContain(TOO_LONG);
  }
});

it("takes whatever params the platform takes", async () => {
  const unit = fc.constantFrom("a", '"', "\\", "\n", "\u00a0", "\u2003", "\u0378", "\u{1fae9}", "\u{1f600}", "é", "字");
  const text = fc.array(unit, { minLength: 1, maxLength: 5 }).chain((units) =>
    // Long enough to come near the bounds, on both sides.
    fc.integer({ min: 1, max: 500 }).map((times) => units.join("").repeat(times)),
  );
  const value = fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.jsonValue({ maxDepth: 20 }));
  const fractions = fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), { maxLength: 500 });
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string({ maxLength: 8 }), fc.oneof(value, fractions), { maxKeys: 4 }),
      async (params) => {
        const given = [{ path: "/params", params, schema: undefined }];
        try {
          checkSizes(given);
          checkParams(given);
        } catch {
          return;
        }
        taken += 1;
        expect(await refusal(params)).toBeUndefined();
      },
    ),
    { numRuns: runs(300), examples: [[{ text: "a" }]] },
  );
  expect(taken).toBeGreaterThan(0);
});

it("agrees with the platform about any text", async () => {
  const unit = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("a", "\\", '"', "\n", "\t", "\u00a0", "\u2007", "\u3000", "u200b", "x1b") },
    { weight: 1, arbitrary: fc.constantFrom("\u200b", "\u202e", "\u001b", "\u3164", "\ue000", "\u{1bca0}") },
    { weight: 4, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 1 }) },
  );
  const text = fc.array(unit, { maxLength: 30 }).map((units) => units.join(""));
  await fc.assert(
    fc.asyncProperty(text, text, async (value, key) => {
      fc.pre(value.isWellFormed() && key.isWellFormed());
      const said = await refusal({ [key]: [value], nested: { value } });
      if (PLATFORM.test(value) && PLATFORM.test(key)) expect(said).toBeUndefined();
      else expect(said).toContain(REFUSAL);
    }),
    { numRuns: runs(300) },
  );
});
