import { expect, test } from "vitest";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { Rollout } from "../../crds/kinds/rollout.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import type { Resource } from "../../kube/objects/resource.ts";
import { ageOf, requestsTable, waitingRequests } from "./requests.ts";

const DEADLINE = "2026-01-02T00:00:00Z";

// biome-ignore lint/suspicious/noExplicitAny: only the fields that are read.
function grant(name: string, creationTimestamp: string, more: { spec?: object; status?: object } = {}): any {
  const spec = { risk: "mutating", decideBefore: DEADLINE, title: `of ${name}`, requestedBy: "ada", ...more.spec };
  return { metadata: { name, creationTimestamp }, spec, status: more.status } as unknown as AccessGrant;
}

// biome-ignore lint/suspicious/noExplicitAny: only the fields that are read.
function rollout(name: string, creationTimestamp: string, more: { spec?: object; state?: string } = {}): any {
  const spec = { action: "update", deadline: DEADLINE, deploymentId: "dep_1", version: "1.4.0", ...more.spec };
  const status = { state: more.state ?? "AwaitingApproval" };
  return { metadata: { name, creationTimestamp }, spec, status } as unknown as Rollout;
}

function serving(grants: readonly unknown[], releases: readonly unknown[] | ApiError): Pick<Client, "list"> {
  async function* list({ plural }: Resource) {
    if (plural === "accessgrants") yield* grants;
    else if (releases instanceof ApiError) throw releases;
    else yield* releases;
  }
  return { list } as unknown as Pick<Client, "list">;
}

const waiting = (client: Pick<Client, "list">) => waitingRequests(client, "grants", new AbortController().signal);
const NOW = new Date("2026-01-01T10:00:00Z");

test("requests and releases that wait are one list, oldest first", async () => {
  const rows = await waiting(
    serving(
      [
        grant("ar-2", "2026-01-01T09:00:00Z", { status: { state: "Pending" } }),
        grant("ar-1", "2026-01-01T08:00:00Z"),
        grant("ar-3", "2026-01-01T07:00:00Z", { spec: { approvedForMinutes: 5 }, status: { state: "Pending" } }),
        grant("ar-4", "2026-01-01T07:00:00Z", { spec: { deniedReason: "no" } }),
        grant("ar-5", "2026-01-01T07:00:00Z", { status: { state: "Lapsed" } }),
      ],
      [
        rollout("delete-1", "2026-01-01T08:30:00Z", { spec: { action: "delete", version: undefined } }),
        rollout("duop-1", "2026-01-01T09:59:00Z"),
        rollout("duop-2", "2026-01-01T07:00:00Z", { state: "Queued" }),
        rollout("duop-3", "2026-01-01T07:00:00Z", { spec: { approvedDigest: "sha256:0" } }),
      ],
    ),
  );
  expect(requestsTable(rows, "grants", NOW)).toBe(
    [
      "NAME      RISK         AGE  DECIDE-BEFORE         REQUESTED-BY  TITLE",
      "ar-1      mutating     2h   2026-01-02T00:00:00Z  ada           of ar-1",
      "delete-1  destructive  90m  2026-01-02T00:00:00Z  -             delete of dep_1",
      "ar-2      mutating     60m  2026-01-02T00:00:00Z  ada           of ar-2",
      "duop-1    mutating     60s  2026-01-02T00:00:00Z  -             update of dep_1, version 1.4.0",
      "",
    ].join("\n"),
  );
});

test.each([403, 404])("where rollouts cannot be listed (%i), the requests are", async (status) => {
  const client = serving([grant("ar-1", "2026-01-01T09:00:00Z")], new ApiError("no", { status, reason: "" }));
  expect((await waiting(client)).map(({ name }) => name)).toEqual(["ar-1"]);
});

test("another failure is told: a list without its releases would look complete", async () => {
  await expect(waiting(serving([], new ApiError("no", { status: 500, reason: "" })))).rejects.toThrow("no");
});

test("when nothing waits, it says where it has looked", () => {
  expect(requestsTable([], "grants", NOW)).toBe("Nothing waits for a decision in grants.\n");
});

test.each([
  [0, "0s"],
  [119, "119s"],
  [120, "2m"],
  [7_199, "119m"],
  [7_200, "2h"],
  [172_799, "47h"],
  [172_800, "2d"],
  [-5, "0s"],
])("an age of %i seconds is %s", (seconds, age) => {
  expect(ageOf(new Date(NOW.getTime() - seconds * 1_000).toISOString(), NOW)).toBe(age);
});
