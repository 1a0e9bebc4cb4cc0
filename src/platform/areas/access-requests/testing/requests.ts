import { expect } from "vitest";
import type { Answer, World } from "../../../testing/harness.ts";
import type { Site } from "../../operations/testing/site.ts";

export const POD = { namespace: "shop", pod: "api-0" };
export const RESTART = { command: "kubernetes/restart-pod", summary: "Restart the stuck pod", params: POD };
export const LOOK = { command: "kubernetes/get-pods", summary: "See that it came back", params: { namespace: "shop" } };
export const DELETE = { command: "kubernetes/delete-pod", summary: "Remove it", params: POD };
/** Of a client that asks for a debug session. */
export const CLIENT_KEY = "k".repeat(43);
export const EXEC = {
  command: "debug/exec",
  summary: "Look inside",
  params: { namespace: "shop", mode: "exec", clientKey: CLIENT_KEY },
};
export const DRAIN = { command: "machines/drain", summary: "Its disk fails", params: { machineId: "m-3" } };
export const REMOVE = { command: "machines/remove", summary: "It goes back", params: { machineId: "m-3" } };
export const NOWHERE = `ar_${"0".repeat(28)}`;
export const HOUR_MS = 3_600_000;

/** The calls that tests of this area make over and over. */
export function requestsOf(world: World) {
  const post = (key: string, path: string, body?: unknown): Promise<Answer> =>
    world.call("POST", `/v1/access-requests${path}`, { key, body });
  const get = (key: string, path: string, query = {}): Promise<Answer> =>
    world.call("GET", `/v1/access-requests${path}`, { key, query });
  const planOf = (site: Site, change: object = {}) => ({
    deploymentId: site.deploymentId,
    remediationPlanId: "incident-7",
    title: "Restart the api",
    commands: [RESTART, LOOK],
    ...change,
  });
  const create = (site: Site, change: object = {}): Promise<Answer> => post(site.engineer, "", planOf(site, change));
  const created = async (site: Site, change: object = {}): Promise<{ id: string; planHash: string }> => {
    const { status, body } = await create(site, change);
    expect(status).toBe(201);
    return body;
  };
  const queued = async (site: Site, change: object = {}) => {
    const request = await created(site, change);
    expect((await post(site.engineer, `/${request.id}/queue`)).status).toBe(200);
    return request;
  };
  const approvals = (site: Site, ...items: object[]): Promise<Answer> =>
    post(site.manager, "/approvals", { deploymentId: site.deploymentId, approvals: items });
  const until = (ms = HOUR_MS): string => new Date(world.clock.wallNow().getTime() + ms).toISOString();
  const commandsOf = (id: string) =>
    world.platform.db
      .selectFrom("commands")
      .selectAll()
      .where("access_request_id", "=", id)
      .orderBy("plan_index")
      .execute();
  const topicsOf = async (site: Site): Promise<string[]> => {
    const rows = await world.platform.db
      .selectFrom("work_feed")
      .selectAll()
      .where("manager_id", "=", site.managerId)
      .execute();
    return rows.map(({ topic }) => topic);
  };
  const clearTopics = (site: Site) =>
    world.platform.db.deleteFrom("work_feed").where("manager_id", "=", site.managerId).execute();
  return { post, get, planOf, create, created, queued, approvals, until, commandsOf, topicsOf, clearTopics };
}
