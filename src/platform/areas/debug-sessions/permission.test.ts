import { describe, expect, it } from "vitest";
import type { AccessRequestRow } from "../../database/tables/access-requests.ts";
import { type Asked, covers } from "./permission.ts";

const at = (ms: number): Date => new Date(Date.UTC(2100, 0, 1) + ms);
const KEY = "k".repeat(43);

/** The customer's yes to one command, until 1 s. */
function approved(command: string, params: object, change: object = {}): AccessRequestRow {
  const commands = [{ command, summary: "look inside", params }];
  const row = { debug: true, status: "customer-approved", approved_until: at(1000), commands, ...change };
  return row as unknown as AccessRequestRow;
}

describe("the customer's yes to a debug session", () => {
  const plan = { namespace: "shop", mode: "exec", clientKey: KEY };
  const exec: Asked = { mode: "exec", namespace: "shop", clientKey: KEY, ports: null, selector: null };
  const forward = { namespace: "shop", mode: "port-forward", clientKey: KEY, ports: [80, 443] };
  const forwarded: Asked = { ...exec, mode: "port-forward", ports: [80, 443] };

  it.each<[string, AccessRequestRow, Asked, boolean]>([
    ["the same mode, namespace and key", approved("debug/exec", plan), exec, true],
    ["another namespace", approved("debug/exec", { ...plan, namespace: "bank" }), exec, false],
    ["another client's key", approved("debug/exec", { ...plan, clientKey: "o".repeat(43) }), exec, false],
    ["no key, as a plan of before names", approved("debug/exec", { namespace: "shop", mode: "exec" }), exec, false],
    ["another mode", approved("debug/logs", { ...plan, mode: "logs" }), exec, false],
    ["a mode that its params deny", approved("debug/exec", { ...plan, mode: "logs" }), exec, false],
    ["the same selector", approved("debug/exec", { ...plan, selector: "app=a" }), { ...exec, selector: "app=a" }, true],
    ["a selector in the plan, all asked", approved("debug/exec", { ...plan, selector: "app=a" }), exec, false],
    ["all in the plan, a selector asked", approved("debug/exec", plan), { ...exec, selector: "app=a" }, false],
    ["the same ports", approved("debug/port-forward", forward), forwarded, true],
    ["one more port", approved("debug/port-forward", forward), { ...forwarded, ports: [80, 443, 22] }, false],
    ["ports in the plan, any asked", approved("debug/port-forward", forward), { ...forwarded, ports: null }, false],
    ["a request without debug", approved("debug/exec", plan, { debug: false }), exec, false],
    ["a request without an approval", approved("debug/exec", plan, { status: "queued" }), exec, false],
    ["a request that was revoked", approved("debug/exec", plan, { status: "rejected" }), exec, false],
  ])("%s", (_, request, asked, expected) => {
    expect(covers(request, asked, at(0))).toBe(expected);
  });

  it("ends at the instant at which its window ends", () => {
    expect(covers(approved("debug/exec", plan), exec, at(999))).toBe(true);
    expect(covers(approved("debug/exec", plan), exec, at(1000))).toBe(false);
  });
});
