import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { canonicalDigest } from "../../crds/canonical-digest.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { ManagedDeployment } from "../../crds/kinds/managed-deployment.ts";
import { receiptOf } from "../../crds/receipt.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { DEPLOYMENT_ID, grant } from "../testing/fixtures.ts";
import { linkReceipt, type ReceiptHead, type ReceiptPorts } from "./receipt-chain.ts";

const conflict = () => new ApiError("changed in between", { status: 409, reason: "Conflict" });
const signal = new AbortController().signal;

function ended(name: string): AccessGrant {
  const spec = { requestId: name, deniedReason: "no", decidedBy: "alice" };
  const status = { state: "Denied", endedAt: "2026-01-01T10:00:00Z" } as const;
  return grant(spec, status, { name, uid: `uid-${name}`, resourceVersion: "1" });
}

type Turn = () => Promise<unknown>;

/** Grants and their deployment as an API server keeps them: optimistic locking, and the rules of the CRDs. */
class Store {
  readonly grants = new Map<string, AccessGrant>();
  readonly heads: ReceiptHead[] = [];
  deployment: ManagedDeployment | undefined;
  #version = 1;
  /** Writes until the process dies: `before` the write, or `after` it, with its answer lost. */
  crashAt: { readonly write: number; readonly when: "before" | "after" } | undefined;
  #writes = 0;

  constructor(names: readonly string[]) {
    for (const name of names) this.grants.set(name, ended(name));
    this.newDeployment();
  }

  newDeployment(): void {
    const metadata = { name: "d", uid: "d", resourceVersion: this.#next(), creationTimestamp: "2026-01-01T08:00:00Z" };
    const spec = { deploymentId: DEPLOYMENT_ID, name: "shop" };
    this.deployment = { apiVersion: "sallyport.dev/v1alpha1", kind: "ManagedDeployment", metadata, spec };
  }

  ports(turn: Turn): ReceiptPorts {
    return {
      fence: () => undefined,
      liveDeployment: async () => {
        await turn();
        return this.deployment;
      },
      liveGrant: async (name) => {
        await turn();
        return this.grants.get(name);
      },
      grantsOf: () => [...this.grants.values()],
      writeHead: async (deployment, receipts) => {
        await turn();
        await this.#written(() => {
          const stored = this.deployment;
          if (stored?.metadata.resourceVersion !== deployment.metadata.resourceVersion) throw conflict();
          const before = stored.status?.receipts;
          if (before !== undefined) {
            expect([receipts.sequence, receipts.previous]).toEqual([before.sequence + 1, before.digest]);
          }
          this.heads.push(receipts);
          const metadata = { ...stored.metadata, resourceVersion: this.#next() };
          this.deployment = { ...stored, metadata, status: { ...stored.status, receipts } };
        });
      },
      writeReceipt: async ({ metadata }, receipt) => {
        await turn();
        await this.#written(() => {
          const stored = this.grants.get(metadata.name);
          if (stored?.metadata.resourceVersion !== metadata.resourceVersion) throw conflict();
          expect(stored.status?.receipt).toBeUndefined();
          const next = { ...stored.metadata, resourceVersion: this.#next() };
          this.grants.set(metadata.name, { ...stored, metadata: next, status: { ...stored.status, receipt } });
        });
      },
    };
  }

  async #written(write: () => void): Promise<void> {
    this.#writes += 1;
    const crash = this.crashAt?.write === this.#writes ? this.crashAt.when : undefined;
    if (crash === "before") throw new Error("the process died");
    write();
    if (crash === "after") throw new Error("the process died");
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }
}

/** As the controller does: again after a conflict; the next process looks at what a dead one has left. */
async function linkedBy(store: Store, name: string, turn: Turn): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const found = store.grants.get(name);
    if (found === undefined || found.status?.receipt !== undefined) return;
    try {
      if ((await linkReceipt(found, store.ports(turn), signal)) !== "again") return;
    } catch (error) {
      if (!(error instanceof Error && error.message === "the process died")) throw error;
      return;
    }
  }
  throw new Error("no end of conflicts");
}

const atOnce: Turn = async () => undefined;

async function linkedAll(store: Store): Promise<void> {
  for (const name of store.grants.keys()) await linkedBy(store, name, atOnce);
}

function expectOneChain({ grants, heads }: Store): void {
  for (const [index, { sequence, previous, digest, grant: name }] of heads.entries()) {
    expect(sequence).toBe(index + 1);
    expect(previous).toBe(heads[index - 1]?.digest);
    const linked = grants.get(name);
    if (linked === undefined) continue;
    expect(linked.status?.receipt).toEqual({ sequence, ...(previous !== undefined && { previous }), digest });
    expect(canonicalDigest(receiptOf(linked, linked.status?.receipt))).toBe(digest);
  }
  expect(new Set(heads.map((each) => each.grant)).size).toBe(heads.length);
  for (const name of grants.keys()) expect(heads.map((each) => each.grant)).toContain(name);
}

const NAMES = ["ar-a", "ar-b", "ar-c"];

test("grants that end at once, two leaders, a crash at any write and a deletion: one chain, no fork, no lost link", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.option(fc.record({ write: fc.integer({ min: 1, max: 8 }), when: fc.constantFrom("before", "after") })),
      fc.option(fc.constantFrom(...NAMES)),
      async (scheduler, crash, deleted) => {
        const store = new Store(NAMES);
        if (crash !== null) store.crashAt = crash;
        const turn: Turn = () => scheduler.schedule(Promise.resolve());
        const processes = [...NAMES, ...NAMES].map((name) => linkedBy(store, name, turn));
        if (deleted !== null) {
          void scheduler.schedule(Promise.resolve(), "deleted").then(() => store.grants.delete(deleted));
        }
        await scheduler.waitFor(Promise.all(processes));
        store.crashAt = undefined;
        await linkedAll(store);
        expectOneChain(store);
      },
    ),
    { numRuns: runs(300) },
  );
});

test("a deployment that was deleted and is back goes on from what grants still show", async () => {
  const store = new Store(["ar-a", "ar-b"]);
  await linkedBy(store, "ar-a", atOnce);
  store.newDeployment();
  await linkedBy(store, "ar-b", atOnce);
  expectOneChain(store);
});

test("without a ManagedDeployment nothing is written", async () => {
  const store = new Store(["ar-a"]);
  store.deployment = undefined;
  expect(await linkReceipt(ended("ar-a"), store.ports(atOnce), signal)).toBe("no deployment");
  expect(store.grants.get("ar-a")?.status?.receipt).toBeUndefined();
});

test("a head that names a grant which is not over holds up no other receipt", async () => {
  const store = new Store(["ar-a", "ar-b"]);
  const open = { ...ended("ar-a"), status: { state: "Approved" } as const };
  store.grants.set("ar-a", open);
  const digest = `sha256:${"f".repeat(64)}`;
  const head = { sequence: 1, digest, grant: "ar-a", grantUid: open.metadata.uid };
  if (store.deployment !== undefined) store.deployment = { ...store.deployment, status: { receipts: head } };
  await linkedBy(store, "ar-b", atOnce);
  expect(store.grants.get("ar-a")?.status?.receipt).toBeUndefined();
  expect(store.grants.get("ar-b")?.status?.receipt).toMatchObject({ sequence: 2, previous: digest });
});
