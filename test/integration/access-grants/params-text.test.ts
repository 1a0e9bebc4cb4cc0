import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { HUMAN_TEXT } from "../../../src/contract/schema.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { installation } from "../../../src/crds/manifests/installation.ts";
import { useCluster } from "../../cluster/use-cluster.ts";

/** What the platform says of text in params (decisions §0.1). */
const PLATFORM = new RegExp(HUMAN_TEXT, "u");
const REFUSAL = "params hold control, zero-width or bidirectional characters";
const cluster = useCluster();

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
  const { crds, rbac, policies } = installation();
  const namespaces = [DEFAULT_NAMES.systemNamespace, DEFAULT_NAMES.grantsNamespace];
  const made = namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  await cluster().apply([...made, ...crds, ...rbac, ...policies]);
  // An installed policy is enforced 0.5 to 3 s later.
  let said: string | undefined;
  for (let tries = 0; said?.includes(REFUSAL) !== true; tries += 1) {
    if (tries > 200) throw new Error(`the policies are not in force: ${said}`);
    said = await refusal({ text: "\u200b" });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}, 120_000);

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
  // Half of a plane at a time is unassigned; a line of params holds some hundred of them as the policy counts.
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
    { numRuns: 300 },
  );
});
