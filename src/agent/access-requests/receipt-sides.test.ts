import fc from "fast-check";
import { Errors } from "typebox/value";
import { expect, test } from "vitest";
import { RECEIPT_BYTES, Receipt, receiptDigest } from "../../contract/access-requests/receipts.ts";
import { canonicalJson as platformJson } from "../../contract/operations/plan-hash.ts";
import { canonicalJson } from "../../crds/canonical-digest.ts";
import { type AccessGrant, FINAL_GRANT_STATES } from "../../crds/kinds/access-grant.ts";
import { linkedReceipt, receiptOf } from "../../crds/receipt.ts";
import { newGrant, stored } from "../testing/sample.ts";

// The cluster makes a receipt, the platform reads it: two copies of one shape, which must not part.

const digest = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 64, maxLength: 64 });
const sha = digest.map((hex) => `sha256:${hex}`);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const time = fc
  .date({ min: new Date("2026-01-01"), max: new Date("2030-01-01"), noInvalidDate: true })
  .map((at) => at.toISOString());
const words = (maxLength: number) => fc.string({ unit: "grapheme", minLength: 1, maxLength: maxLength / 8 });
const line = fc.record(
  {
    index: fc.integer({ min: 0, max: 49 }),
    state: fc.constantFrom("Succeeded", "Failed", "Unknown", "NotStarted", "Skipped"),
    commandId: fc.constant("cmd_1"),
    account: fc.constant("grant-aaaaaaaaaaaa"),
    startedAt: time,
    finishedAt: time,
    resultDigest: sha,
  },
  { requiredKeys: ["index", "state"] },
);
const params = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });

const grants = fc
  .record({
    title: words(256),
    commands: fc.array(
      fc.record({ command: fc.constant("kubernetes/scale"), summary: words(64), params: maybe(params) }),
      {
        minLength: 1,
        maxLength: 50,
      },
    ),
    decided: fc.constantFrom({ deniedReason: "no" }, { approvedForMinutes: 5 }, {}),
    decidedBy: maybe(words(512)),
    revoked: maybe(fc.record({ revokedReason: words(1024), revokedBy: words(512) })),
    state: fc.constantFrom(...FINAL_GRANT_STATES),
    endedAt: time,
    window: maybe(fc.record({ approvedAt: time, approvedUntil: time })),
    reason: maybe(fc.constantFrom("StampedByAdmission", "ClaimCheckedByPolicy", "NotEnforced")),
    lines: maybe(fc.array(line, { maxLength: 50 })),
    link: fc.record({ sequence: fc.integer({ min: 1, max: 1e6 }), previous: maybe(sha) }),
  })
  .map(({ title, commands, decided, decidedBy, revoked, state, endedAt, window, reason, lines, link }): AccessGrant => {
    const condition = {
      type: "IdentityVerified",
      status: reason === "NotEnforced" ? ("False" as const) : ("True" as const),
      reason: reason ?? "",
      message: "",
      lastTransitionTime: endedAt,
    };
    const status = {
      ...{ state, endedAt, ...window },
      ...(lines && { commands: lines }),
      ...(reason && { conditions: [condition] }),
    };
    const spec = { title, commands, ...decided, ...revoked, ...(decidedBy !== undefined && { decidedBy }) };
    const grant = stored(newGrant(), JSON.parse(JSON.stringify(status)), JSON.parse(JSON.stringify(spec)));
    const receipt = receiptOf(grant, link);
    return { ...grant, status: { ...grant.status, receipt: { ...link, digest: receiptDigest(receipt) } } as never };
  });

test("of any grant the two sides compute the same bytes, and the platform takes them", () => {
  fc.assert(
    fc.property(grants, (grant) => {
      const made = linkedReceipt(grant);
      expect(made?.digest).toBe(grant.status?.receipt?.digest);
      expect([...Errors(Receipt, made?.receipt)]).toEqual([]);
      const sent: unknown = JSON.parse(JSON.stringify(made?.receipt));
      expect(platformJson(sent)).toBe(canonicalJson(made?.receipt));
      expect(receiptDigest(sent)).toBe(made?.digest);
      expect(Buffer.byteLength(JSON.stringify(sent))).toBeLessThan(RECEIPT_BYTES);
    }),
  );
});

test("a grant that is not over, or of which something runs, has no receipt", () => {
  const over = { state: "Revoked", endedAt: "2026-01-01T11:00:00Z" } as const;
  const link = { sequence: 1 };
  expect(receiptOf(stored(newGrant(), over), link)).toBeDefined();
  const running = { index: 0, state: "Running", commandId: "cmd_1" } as const;
  for (const status of [
    { ...over, commands: [running] },
    { state: "Approved" } as const,
    { state: "Revoked" } as const,
  ]) {
    expect(receiptOf(stored(newGrant(), status), link)).toBeUndefined();
  }
});
