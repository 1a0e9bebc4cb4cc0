import { expect, it } from "vitest";
import type { Site } from "../areas/deployments/testing/site.ts";
import { newSite } from "../areas/deployments/testing/site.ts";
import { type Answer, onEachDatabase, overSockets, type TestUser } from "../testing/harness.ts";
import { BODY, callsOf, Peer, read, refused, until } from "./testing/peer.ts";

onEachDatabase("the relay's sockets of people", (within) => {
  const world = overSockets(within);
  const { join } = callsOf(world);

  interface Attached {
    readonly site: Site;
    readonly user: TestUser;
    readonly id: string;
    readonly client: Peer;
    readonly tunnel: Peer;
  }

  /** A user who is signed in, as a browser or by a program's token, and has attached to a session of its own. */
  async function attached(by: "session" | "grant"): Promise<Attached> {
    const site = await newSite(world);
    const user = await world.user();
    await site.workspace.member(user, "workspace.member");
    const deployment = await site.deploy("shop");
    const as = by === "session" ? { headers: user.headers } : { key: user.token };
    const asked = await world.call("POST", `/v1/deployments/${deployment}/debug-requests`, {
      ...as,
      query: { workspace: site.workspace.name },
      body: BODY,
    });
    expect(asked.status, JSON.stringify(asked.body)).toBe(201);
    const client = await new Peer(asked.body.attachUrl, asked.body.ticket).opened();
    const tunnel = await join(asked.body.session.id, site.manager.key);
    await until(world, site, asked.body.session.id, "running");
    return { site, user, id: asked.body.session.id, client, tunnel };
  }

  const members = ({ site }: Attached, user: TestUser) => `/v1/workspaces/${site.workspace.id}/members/${user.id}`;

  /** What takes a user's right to the socket. */
  const ENDS: readonly (readonly [
    name: string,
    by: "session" | "grant",
    end: (at: Attached) => Promise<Answer | object>,
  ])[] = [
    [
      "removal from the workspace",
      "session",
      (at) => world.call("DELETE", members(at, at.user), { key: at.site.admin }),
    ],
    [
      "a role that may not debug",
      "grant",
      (at) => world.call("PATCH", members(at, at.user), { key: at.site.admin, body: { role: "workspace.viewer" } }),
    ],
    ["signing out", "session", (at) => world.call("POST", "/auth/logout", { headers: at.user.headers })],
    [
      "the revocation of the program's grant",
      "grant",
      (at) =>
        world.platform.db
          .deleteFrom("oauth_records")
          .where("user_id", "=", at.user.id)
          .where("kind", "=", "Grant")
          .execute(),
    ],
  ];

  it.each(ENDS)("%s ends them", async (_name, by, end) => {
    const at = await attached(by);
    await end(at);
    expect(await Promise.all([at.client.closed, at.tunnel.closed])).toEqual([4411, 4411]);
    await until(world, at.site, at.id, "stopped");
    expect((await read(world, at.site, at.id)).closeReason).toBe("revoked");
  });
});

onEachDatabase(
  "the relay's seats",
  (world) => {
    const { ask, join } = callsOf(world);

    it("a tenant that takes all of its seats takes none of another's", async () => {
      const [noisy, other] = [await newSite(world), await newSite(world)];
      const deployment = await noisy.deploy("shop");
      const peers: Peer[] = [];
      const sessions: string[] = [];
      for (let count = 0; count < 2; count += 1) {
        const asked = (await ask(noisy, deployment)).body;
        sessions.push(asked.session.id);
        peers.push(await new Peer(asked.attachUrl, asked.ticket).opened());
      }
      const third = (await ask(noisy, deployment)).body;
      const protocols = ["sp-debug.v2", `ticket.${third.ticket}`];
      expect(await refused(third.attachUrl, protocols)).toEqual([429, "RATE_LIMITED"]);
      // The other side of a session that has its seat needs none.
      peers.push(await join(sessions[0] ?? "", noisy.manager.key));
      const asked = (await ask(other, await other.deploy("shop"))).body;
      peers.push(await new Peer(asked.attachUrl, asked.ticket).opened());
      // The ticket that was refused is not used up, and an ended session leaves its seat.
      peers[1]?.say({ type: "close", reason: "client" });
      await peers[1]?.closed;
      peers.push(await new Peer(third.attachUrl, third.ticket).opened());
      for (const peer of peers) peer.socket.terminate();
    });
  },
  { budgets: { "deployment-relay-seats": 2 } },
);
