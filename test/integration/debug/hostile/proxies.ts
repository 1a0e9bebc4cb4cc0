import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../../world/wait.ts";
import { outerAddress, PrivateTls } from "../../proxy/private-tls.ts";
import { Squid, squidProblem } from "../../proxy/squid.ts";
import { openSession } from "../engineer.ts";
import type { TunnelWorld } from "../tunnel-world.ts";
import type { PlatformProcesses } from "./platform-processes.ts";

interface World {
  readonly at: TunnelWorld;
  readonly platforms: PlatformProcesses;
}

const PASSWORD = "p@ss:word/7";
const address = outerAddress();
const problem = squidProblem() ?? (address === undefined ? "this machine has no address besides loopback" : undefined);
if (problem !== undefined) console.warn(`debug sessions through proxies are not tested: ${problem}`);

/** Both ends of a session behind a proxy of their own, which asks for a password; the platform has a private CA. */
export function throughProxies(
  world: () => World,
  tunnel: { start(env: Readonly<Record<string, string>>): Promise<void>; stop(): Promise<void> },
): void {
  describe.skipIf(problem !== undefined)("both ends behind proxies", () => {
    let tls: PrivateTls;
    let env: Record<"engineer" | "tunnel", Record<string, string>>;
    const squids: Record<string, Squid> = {};
    beforeAll(async () => {
      const { at, platforms } = world();
      tls = await PrivateTls.listen(address ?? "", platforms.urls[0], "Example Corp Root");
      const ca = join(at.cluster.dir, "proxied-ca.crt");
      writeFileSync(ca, tls.ca);
      const through = async (user: string): Promise<Record<string, string>> => {
        const squid = await Squid.make(user, PASSWORD);
        squids[user] = squid;
        await squid.start();
        const proxy = `http://${user}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${squid.port}`;
        return { HTTPS_PROXY: proxy, NODE_EXTRA_CA_CERTS: ca, NO_PROXY: "localhost,127.0.0.1" };
      };
      env = { engineer: await through("engineer"), tunnel: await through("tunnel") };
      Object.assign(env.engineer, { SALLYPORT_URL: `https://${tls.host}` });
      Object.assign(env.tunnel, { SALLYPORT_PLATFORM_URL: `https://${tls.host}` });
      await tunnel.start(env.tunnel);
    });
    afterAll(async () => {
      await Promise.all(Object.values(squids).map((squid) => squid.close()));
      await tls?.close();
    });

    /** Squid writes a line when a connection ends; one without a request is of the test that waits until squid is up. */
    const connections = async (user: string): Promise<readonly string[]> =>
      ((await squids[user]?.log()) ?? []).filter((line) => !line.startsWith("NONE_NONE"));

    const expectOnlyPlatform = async (user: string): Promise<void> => {
      // Calls, and the WebSocket.
      const lines = await eventually(
        () => connections(user),
        ({ length }) => length >= 2,
      );
      expect(new Set(lines)).toEqual(new Set([`TCP_TUNNEL/200 CONNECT ${tls.host} ${user}`]));
    };

    it("reach each other; the engineer's connections go to the platform and nowhere else", async () => {
      const { at } = world();
      const session = await openSession(at, { mode: "exec", env: env.engineer });
      expect((await session.kubectl(["exec", "api-0", "--", "echo", "through"])).stdout).toBe("through\n");
      await session.close();
      await expectOnlyPlatform("engineer");
      for (const said of [session.cli.out, session.cli.error]) expect(said).not.toContain("p%40ss");
    });

    it("the engineer's go around it to what NO_PROXY names", async () => {
      const { at } = world();
      const before = await connections("engineer");
      const around = { ...env.engineer, NO_PROXY: `localhost,127.0.0.1,${address}` };
      const session = await openSession(at, { mode: "exec", env: around });
      expect((await session.kubectl(["exec", "api-0", "--", "echo", "around"])).stdout).toBe("around\n");
      await session.close();
      expect(await connections("engineer")).toEqual(before);
    });

    it("the tunnel's have gone to the platform and nowhere else", async () => {
      // The connection of its calls is kept open for more of them, and squid tells of it at its end.
      await tunnel.stop();
      await expectOnlyPlatform("tunnel");
    });
  });
}
