import { describe, expect, it } from "vitest";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import { covers } from "./permission.ts";

const at = (ms: number): Date => new Date(Date.UTC(2100, 0, 1) + ms);

/** The customer's yes to one command, until 1 s. */
function approved(command: string, params: Record<string, string> = {}, change: object = {}): AccessRequestRow {
  const commands = [{ command, summary: "look inside", params }];
  const row = { debug: true, status: "customer-approved", approved_until: at(1000), commands, ...change };
  return row as unknown as AccessRequestRow;
}

describe("the customer's yes to a debug session", () => {
  const exec = { mode: "exec", namespace: "shop" } as const;

  it.each([
    ["the same mode and namespace", approved("debug/exec", { namespace: "shop", mode: "exec" }), exec, true],
    ["any namespace", approved("debug/exec"), exec, true],
    ["another namespace", approved("debug/exec", { namespace: "bank" }), exec, false],
    [
      "one namespace, all asked",
      approved("debug/exec", { namespace: "shop" }),
      { ...exec, namespace: undefined },
      false,
    ],
    ["another mode", approved("debug/logs"), exec, false],
    ["a mode that its params deny", approved("debug/exec", { mode: "logs" }), exec, false],
    ["a request without debug", approved("debug/exec", {}, { debug: false }), exec, false],
    ["a request that nobody approved", approved("debug/exec", {}, { status: "queued" }), exec, false],
    ["a request that was revoked", approved("debug/exec", {}, { status: "rejected" }), exec, false],
  ])("%s", (_, request, asked, expected) => {
    expect(covers(request, asked, at(0))).toBe(expected);
  });

  it("ends at the instant at which its window ends", () => {
    expect(covers(approved("debug/exec"), exec, at(999))).toBe(true);
    expect(covers(approved("debug/exec"), exec, at(1000))).toBe(false);
  });
});
