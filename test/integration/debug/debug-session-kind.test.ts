import { describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEBUG_SESSION } from "../../../src/crds/kinds/debug-session.ts";
import { OPERATION_POLICY } from "../../../src/crds/kinds/operation-policy.ts";
import { KINDS } from "../../../src/crds/manifests/installation.ts";
import { GRANTS } from "../../world/people.ts";
import { type Answer, kindObjects } from "../kind-objects.ts";

const cluster = useCluster();
const KEY = "k".repeat(43);
const AT = "2026-01-01T12:00:00Z";
const OPENED = { state: "Open", account: "debug-0a1b2c3d4e5f", openedAt: AT, until: "2026-01-01T13:00:00Z" };
const ENDED = { closedAt: "2026-01-01T12:30:00Z", closeReason: "client" };
const LAST_WORD = {
  ...{ instance: "t-1", epoch: 2, bytesOut: 9, key: KEY, closed: { reason: "idle", at: AT } },
  audit: { records: 7, head: "a".repeat(64), at: AT },
};

let made = 0;

const objects = kindObjects(cluster, KINDS);

function create(spec: object = {}, name?: string): Promise<Answer & { readonly name: string }> {
  made += 1;
  const sessionId = `dbg_Case${made}`;
  const asked = {
    sessionId,
    deploymentId: "dep_1",
    grantName: "ar-1",
    mode: "exec",
    namespace: "shop",
    owner: "jo@vendor.example",
    reason: "500s since 14:02",
    clientKey: KEY,
    expiresAt: "2026-01-01T13:00:00Z",
  };
  const named = name ?? `dbg-case${made}`;
  return objects.create(DEBUG_SESSION, named, { ...asked, ...spec }).then((answer) => ({ ...answer, name: named }));
}

const patch = (name: string, body: object): Promise<Answer> => objects.patch(DEBUG_SESSION, name, body);
const report = (name: string, status: object | null): Promise<Answer> => objects.report(DEBUG_SESSION, name, status);

describe("create", () => {
  test.each([
    ["is taken as asked", {}, undefined],
    ["a mode that the policy runs by itself needs no grant", { grantName: undefined, mode: "logs" }, undefined],
    ["ports belong to port-forward", { mode: "port-forward", ports: [8080, 9090] }, undefined],
    ["and to no other mode", { ports: [8080] }, "ports belong to the mode port-forward"],
    ["one port once", { mode: "port-forward", ports: [80, 80] }, "a port is named once"],
    ["a port that is none", { mode: "port-forward", ports: [0] }, "ports[0]"],
    ["a selector with logs, exec and port-forward", { selector: "app=api" }, undefined],
    ["and not with read", { mode: "read", selector: "app=api" }, "the mode read takes no selector"],
    ["an unknown mode", { mode: "attach" }, "Unsupported value"],
    ["a key of another length", { clientKey: "k".repeat(42) }, "clientKey"],
    ["no key", { clientKey: undefined }, "clientKey"],
    ["a namespace that is a path", { namespace: "shop/../kube-system" }, "spec.namespace"],
    ["an owner with an escape", { owner: "jo\u001b[2J" }, "spec.owner"],
    ["already ended", { endedReason: "enough" }, "cannot be created already ended"],
    ["another name than the id's", { sessionId: "dbg_other" }, "the name must be sessionId"],
  ])("%s", async (_, spec, words) => {
    const { status, message } = await create(spec);
    expect({ status, message }).toEqual(
      words === undefined ? { status: 201, message: "" } : { status: 422, message: expect.stringContaining(words) },
    );
  });
});

describe("spec", () => {
  test.each([
    ["expiresAt", { expiresAt: "2026-01-01T19:00:00Z" }],
    ["a shorter expiresAt", { expiresAt: "2026-01-01T12:10:00Z" }],
    ["mode", { mode: "logs" }],
    ["namespace", { namespace: "kube-system" }],
    ["clientKey", { clientKey: "x".repeat(43) }],
    ["grantName", { grantName: null }],
    ["selector", { selector: "app=api" }],
    ["owner", { owner: "other" }],
  ])("%s never changes", async (_, spec) => {
    const { name } = await create();
    expect((await patch(name, { spec })).message).toContain("immutable");
  });

  test("the customer's word is written once", async () => {
    const { name } = await create();
    expect((await patch(name, { spec: { endedBy: "alice" } })).message).toContain("only accompany endedReason");
    expect((await patch(name, { spec: { endedReason: "enough" } })).status).toBe(200);
    for (const spec of [{ endedReason: "other" }, { endedReason: null }, { endedBy: "mallory" }])
      expect((await patch(name, { spec })).message).toContain("final");
  });
});

describe("status", () => {
  const steps = (...states: object[]) => states;
  const OPENING = { state: "Opening" };
  test.each([
    [
      "from end to end",
      steps({ state: "Pending" }, OPENING, OPENED, { state: "Closing" }, { state: "Closed", ...ENDED }),
      undefined,
    ],
    ["refused", steps({ state: "Refused", ...ENDED }), undefined],
    ["an open session is not opened again", steps(OPENED, OPENING), "only goes on"],
    ["a closing one does not open", steps(OPENED, { state: "Closing" }, { state: "Open" }), "only goes on"],
    ["Closed is final", steps({ state: "Closed", ...ENDED }, { state: "Open" }), "only goes on"],
    ["Refused is final", steps({ state: "Refused", ...ENDED }, { state: "Pending" }), "only goes on"],
    ["a state does not go away", steps(OPENED, { state: null }), "only goes on"],
    ["until is write-once", steps(OPENED, { until: "2026-01-01T12:59:00Z" }), "until is write-once"],
    ["until does not go away", steps(OPENED, { until: null }), "until"],
    ["until is not after expiresAt", steps({ ...OPENED, until: "2026-01-01T13:00:01Z" }), "until is after expiresAt"],
    ["at most 8 hours", steps({ ...OPENED, openedAt: "2026-01-01T04:59:59Z" }), "8 hours"],
    ["open without an account", steps({ ...OPENED, account: undefined }), "needs until, openedAt and account"],
    ["an account of another form", steps({ ...OPENED, account: "default" }), "status.account"],
    ["the account is write-once", steps(OPENED, { account: "debug-000000000000" }), "account is write-once"],
    [
      "closed without a reason",
      steps(OPENED, { state: "Closing" }, { state: "Closed", closedAt: AT }),
      "needs closedAt",
    ],
    ["an unknown reason", steps({ state: "Refused", closedAt: AT, closeReason: "whim" }), "Unsupported value"],
    ["the reason is write-once", steps({ state: "Refused", ...ENDED }, { closeReason: "killed" }), "write-once"],
    [
      "the tunnel's part grows",
      steps({ tunnel: { instance: "t-1", epoch: 1 } }, { tunnel: { epoch: 2, bytesIn: 1 } }),
      undefined,
    ],
    [
      "the epoch does not go back",
      steps({ tunnel: { instance: "t-1", epoch: 2 } }, { tunnel: { epoch: 1 } }),
      "does not go back",
    ],
    ["the tunnel's part is not dropped", steps({ tunnel: { instance: "t-1" } }, { tunnel: null }), "cannot be dropped"],
    [
      "the tunnel closes once",
      steps(
        { tunnel: { instance: "t-1", closed: { reason: "idle", at: AT } } },
        { tunnel: { closed: { reason: "client" } } },
      ),
      "closes a session once",
    ],
    ...[
      { audit: { records: 1 } },
      { audit: { head: "b".repeat(64) } },
      { audit: null },
      { instance: "t-2" },
      { key: "l".repeat(43) },
      { key: null },
      { bytesOut: 1 },
      { denied: 0 },
      { epoch: 3 },
    ].map((tunnel): [string, ReturnType<typeof steps>, string] => [
      `the tunnel's last word stands: ${JSON.stringify(tunnel)}`,
      steps({ tunnel: LAST_WORD }, { tunnel }),
      "its last word stands",
    ]),
    [
      "the tunnel's last word may be said again",
      steps({ tunnel: { ...LAST_WORD, closed: undefined } }, { tunnel: LAST_WORD }, { tunnel: LAST_WORD }),
      undefined,
    ],
    [
      "a head is a digest",
      steps({ tunnel: { instance: "t", audit: { records: 1, head: "x", at: AT } } }),
      "audit.head",
    ],
  ])("%s", async (_, states, words) => {
    const { name } = await create();
    const answers: Answer[] = [];
    for (const state of states) answers.push(await report(name, state));
    const last = answers.pop();
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    if (words === undefined) expect(last).toEqual({ status: 200, message: "" });
    else expect(last).toEqual({ status: 422, message: expect.stringContaining(words) });
  });

  test("status is not wiped", async () => {
    const { name } = await create();
    await report(name, OPENED);
    expect((await report(name, null)).status).toBe(422);
  });

  test("a session that a person ended is not opened any more, and an open one may be closed", async () => {
    const [pending, open] = [await create(), await create()];
    await report(open.name, OPENED);
    for (const { name } of [pending, open]) await patch(name, { spec: { endedReason: "enough" } });
    expect((await report(pending.name, OPENED)).message).toContain("cannot be opened");
    expect((await report(pending.name, { state: "Opening" })).message).toContain("cannot be opened");
    expect((await report(pending.name, { state: "Refused", ...ENDED })).status).toBe(200);
    expect((await report(open.name, { tunnel: { instance: "t-1" } })).status).toBe(200);
    expect((await report(open.name, { state: "Closing" })).status).toBe(200);
  });
});

test("kubectl finds it by its short name, and by who is inside", async () => {
  const { name } = await create({ deploymentId: "dep_found" });
  await report(name, OPENED);
  const fields = "spec.deploymentId=dep_found,spec.grantName=ar-1,status.state=Open";
  const { stdout, stderr } = await cluster().kubectl(["get", "dbg", "-n", GRANTS, `--field-selector=${fields}`]);
  expect(stderr).toBe("");
  expect(stdout.split("\n")[0]?.split(/\s+/)).toEqual(["NAME", "STATE", "MODE", "NAMESPACE", "OWNER", "UNTIL", "AGE"]);
  expect(stdout).toContain("jo@vendor.example");
});

test.each([
  ["debug/logs", "auto", true],
  ["debug/read", "auto", true],
  ["debug/exec", "auto", false],
  ["debug/port-forward", "auto", false],
  ["debug/*", "auto", false],
  ["debug/*", "deny", true],
  ["debug/exec", "manual", true],
  ["*", "auto", true],
])("a policy whose rule for %s says %s is taken: %s", async (pattern, decision, taken) => {
  made += 1;
  const rules = [{ pattern, decision }];
  const { status, message } = await objects.create(OPERATION_POLICY, `policy-${made}`, { rules });
  expect(status).toBe(taken ? 201 : 422);
  if (!taken) expect(message).toContain("each by its own name");
});
