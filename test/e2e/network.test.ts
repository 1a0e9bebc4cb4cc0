import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SHOP, SYSTEM } from "../world/people.ts";
import { useCast } from "./cast.ts";
import { reaches } from "./reach.ts";

// NetworkPolicies are on, and the pod network enforces them; otherwise these tests would prove nothing.

const cast = useCast();
let neighbour: Server | undefined;
let somewhereElse = 0;

beforeAll(async () => {
  // A server at the platform's own address: only the port is different.
  const server = createServer((socket) => socket.end());
  neighbour = server;
  const { hostname } = new URL(cast().scene.vendor.url);
  await new Promise<void>((resolve) => server.listen(0, hostname, resolve));
  const address = server.address();
  somewhereElse = typeof address === "object" && address !== null ? address.port : 0;
});
afterAll(() => neighbour?.close());

const fromPod = (namespace: string, workload: string, host: string, port: number): Promise<boolean> =>
  reaches(cast().scene, [namespace, workload], host, port);

describe("with NetworkPolicies on", () => {
  const platform = () => new URL(cast().scene.vendor.url);

  test("the agent reaches the platform, and nothing beside it", async () => {
    const { hostname, port } = platform();
    expect(await fromPod(SYSTEM, "sallyport-agent", hostname, Number(port))).toBe(true);
    expect(await fromPod(SYSTEM, "sallyport-agent", hostname, somewhereElse)).toBe(false);
  });

  test("the operator reaches the API server, and no platform", async () => {
    const { hostname, port } = platform();
    expect(await fromPod(SYSTEM, "sallyport-operator", cast().scene.cluster.controlPlaneAddress, 6443)).toBe(true);
    expect(await fromPod(SYSTEM, "sallyport-operator", "10.96.0.1", 443)).toBe(true); // The Service `kubernetes`.
    expect(await fromPod(SYSTEM, "sallyport-operator", hostname, Number(port))).toBe(false);
  });

  test("a pod that no policy selects reaches all of it: the policies did this", async () => {
    const { hostname, port } = platform();
    expect(await fromPod(SHOP, "web", hostname, Number(port))).toBe(true);
    expect(await fromPod(SHOP, "web", hostname, somewhereElse)).toBe(true);
  });

  test("the agent's health port answers, and no other port of it", async () => {
    const [pod] = await cast().pods("agent");
    const address = pod?.status?.podIP ?? "";
    expect(await fromPod(SHOP, "web", address, 8080)).toBe(true);
    expect(await fromPod(SHOP, "web", address, 9229)).toBe(false);
  });
});
