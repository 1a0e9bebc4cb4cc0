import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { RELAY_CLOSE_CODES } from "../../contract/debug-sessions/debug-relay.ts";
import { newSessionKey } from "../../debug-link/session-key.ts";
import { say } from "../../debug-link/testing/fake-relay.ts";
import { attachTo } from "../testing/attached-engineer.ts";
import { refusal, SessionWorld } from "../testing/session-world.ts";

let world: SessionWorld;
afterEach(() => world.close());

const [engineer, tunnel] = ["engineer", "tunnel"].map((name) => newSessionKey(name, new Date())) as never as [
  ReturnType<typeof newSessionKey>,
  ReturnType<typeof newSessionKey>,
];

/** An uninstall: the tunnel's rights, its namespace and its object go while it stops. */
test.each([0, 1])("a tunnel that stops tells the relay first (%i requests under way)", async (underWay) => {
  world = await SessionWorld.start({}, { key: tunnel }, (each) => {
    each.stored = { ...each.stored, spec: { ...each.stored.spec, clientKey: engineer.pin } };
  });
  const socket = await world.accept();
  const heard: string[] = [];
  socket.on("message", (data, isBinary) => {
    if (isBinary) return;
    heard.push(String(data));
    // As the relay does.
    if (String(data).includes("close")) say(socket, { type: "close", reason: "agent" });
  });
  await world.until(() => (world.tunnel?.audit?.records ?? 0) > 0);
  const session = await attachTo(socket, engineer, tunnel.pin);
  await world.until(() => world.tunnel?.attachedAt !== undefined);
  if (underWay > 0) session.request({ ":path": "/api/v1/namespaces/shop/pods" }).on("error", () => undefined);
  const closed = once(socket, "close");
  world.faults.push(...Array.from({ length: 100 }, () => refusal(403, "Forbidden")));
  world.terminate();
  // A request gets its two seconds; without one nothing waits for them.
  if (underWay > 0) await world.until(() => socket.readyState !== socket.OPEN, 500);
  const [code] = (await closed) as [number];
  expect([heard.at(-1), code]).toEqual(['{"type":"close","reason":"agent"}', RELAY_CLOSE_CODES.done]);
});

test("a last word that the API server did not take at once is said again before the tunnel is gone", async () => {
  world = await SessionWorld.start();
  await world.accept();
  await world.until(() => (world.tunnel?.audit?.records ?? 0) > 0);
  world.faults.push(refusal(500, "InternalError"));
  world.terminate();
  await world.until(() => world.heads.length > 0);
  await world.stop();
  expect(world.tunnel?.closed).toMatchObject({ reason: "agent" });
});
