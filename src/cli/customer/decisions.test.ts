import { expect, test } from "vitest";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { refusalOf } from "./decisions.ts";

function grant(spec: object, state?: string): AccessGrant {
  return { metadata: { name: "ar-1" }, spec, status: { state } } as unknown as AccessGrant;
}

test.each([
  ["waits", grant({}, "Pending"), undefined, /not approved: deny/],
  ["was not looked at", grant({}), undefined, /not approved: deny/],
  ["is approved", grant({ approvedForMinutes: 5, decidedBy: "bob" }, "Approved"), /by bob: revoke ends it/, undefined],
  ["is denied", grant({ deniedReason: "no", decidedBy: "bob" }, "Denied"), /denied already by bob/, /denied already/],
  [
    "is revoked",
    grant({ approvedForMinutes: 5, revokedReason: "no" }, "Revoked"),
    /revoked already/,
    /revoked already$/,
  ],
  ["has lapsed", grant({}, "Lapsed"), /is over: Lapsed/, /is over: Lapsed/],
  ["is done", grant({ approvedForMinutes: 5 }, "Completed"), /is over: Completed/, /is over: Completed/],
] as const)("a request that %s", (_, of, denial, revocation) => {
  for (const [act, words] of [
    ["deny", denial],
    ["revoke", revocation],
  ] as const) {
    if (words === undefined) expect(refusalOf(of, act)).toBeUndefined();
    else expect(refusalOf(of, act)).toMatch(words);
  }
});
