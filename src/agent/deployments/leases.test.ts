import { describe, expect, test } from "vitest";
import { ApiError } from "../../api-client/api-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { DEPLOYMENT, forever } from "../testing/sample.ts";
import { Leases, type LeasesOptions } from "./leases.ts";

function world(platform: Partial<Record<"acquire" | "renew" | "release", (body: unknown) => unknown>> = {}) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const held: number[] = [];
  const route =
    (name: "acquire" | "renew" | "release", otherwise: unknown) =>
    async ({ body }: { body: unknown }): Promise<never> => {
      asked.push(name);
      return (platform[name] === undefined ? otherwise : platform[name](body)) as never;
    };
  const routes = {
    acquire: route("acquire", { deployments: [{ deploymentId: DEPLOYMENT }], failures: [], leaseExpiresAt: null }),
    renew: route("renew", {
      success: true,
      leases: [{ deploymentId: DEPLOYMENT, renewed: true, leaseExpiresAt: null }],
    }),
    release: route("release", { success: true }),
  };
  const leases = new Leases({
    platform: routes as unknown as LeasesOptions["platform"],
    clock,
    changed: (count) => void held.push(count),
  });
  return { leases, clock, asked, held };
}
const lost = (): never => {
  throw new ApiError("LEASE_LOST", "lost", { status: 409, retryable: false });
};

describe("a lease", () => {
  test("is asked for by name, and not again within a minute", async () => {
    const bodies: unknown[] = [];
    const { leases, clock } = world({
      acquire: (body) => {
        bodies.push(body);
        return { deployments: [], failures: [], leaseExpiresAt: null };
      },
    });
    clock.advance(5_000);
    await leases.acquire(DEPLOYMENT, "pull", forever);
    expect(bodies).toMatchObject([
      { session: leases.session, deploymentModel: "pull", deploymentIds: [DEPLOYMENT], limit: 1 },
    ]);
    expect(leases.of(DEPLOYMENT)).toBeUndefined();
    expect(leases.acquireAtMs(DEPLOYMENT)).toBe(65_000);
  });

  test("counts from before the request was sent", async () => {
    const { leases, clock } = world({
      renew: () => {
        clock.advance(7_000);
        return { success: true, leases: [{ deploymentId: DEPLOYMENT, renewed: true, leaseExpiresAt: null }] };
      },
    });
    await leases.acquire(DEPLOYMENT, "pull", forever);
    expect(await leases.renew(DEPLOYMENT, forever)).toBe(true);
    expect(leases.of(DEPLOYMENT)).toEqual({ succeededAtMs: 0, confirmed: true, renewAtMs: 60_000 });
  });

  test.each([
    ["the platform says so", lost],
    [
      "its row is not renewed",
      () => ({ success: false, leases: [{ deploymentId: DEPLOYMENT, renewed: false, leaseExpiresAt: null }] }),
    ],
  ])("is lost when %s, and not asked for within a minute", async (_, renew) => {
    const { leases, clock, held } = world({ renew });
    await leases.acquire(DEPLOYMENT, "pull", forever);
    clock.advance(30_000);
    expect(await leases.renew(DEPLOYMENT, forever)).toBe(false);
    expect(leases.of(DEPLOYMENT)).toBeUndefined();
    expect(leases.acquireAtMs(DEPLOYMENT)).toBe(90_000);
    expect(held).toEqual([1, 0]);
  });

  test("is kept through a renewal that failed for another reason", async () => {
    const { leases } = world({
      renew: () => {
        throw new ApiError("NETWORK_ERROR", "away", { status: 0, retryable: true });
      },
    });
    await leases.acquire(DEPLOYMENT, "pull", forever);
    await expect(leases.renew(DEPLOYMENT, forever)).rejects.toThrow("away");
    expect(leases.of(DEPLOYMENT)).toBeDefined();
  });

  test("is given back at the end, whatever the platform says to that", async () => {
    const { leases, asked, held } = world({ release: lost });
    await leases.acquire(DEPLOYMENT, "pull", forever);
    await leases.releaseAll(forever);
    expect(asked).toEqual(["acquire", "release"]);
    expect(held).toEqual([1, 0]);
  });
});
