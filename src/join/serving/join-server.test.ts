import { createHash } from "node:crypto";
import { connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ApiError as PlatformError } from "../../api-client/api-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { JoinWorld, machineRequest, pool, TOKEN } from "../testing/join-world.ts";

let world: JoinWorld;
let machine: ReturnType<typeof machineRequest>;
beforeAll(() => {
  machine = machineRequest("m-1");
});
beforeEach(async () => {
  world = await JoinWorld.start();
});
afterEach(() => world.close());

const bodyOf = (changed: object = {}): string =>
  JSON.stringify({ machineId: "box-1", nodeName: "m-1", request: machine.request, facts: { os: "Linux" }, ...changed });
const ask = (changed: object = {}, token = TOKEN) => world.ask("POST", "/v1/join", { body: bodyOf(changed), token });
const platformSays = (code: string, status: number): void => {
  world.refusal = new PlatformError(code, `the platform says ${code}`, { status, retryable: false });
};
const NAME = /^workers-[0-9a-f]{12}$/;

describe("a machine that asks", () => {
  test("gets a join, which waits for the customer, and its certificate when it is issued", async () => {
    const { status, json } = await ask();
    expect({ status, json }).toEqual({
      status: 202,
      json: {
        ...{ uid: expect.any(String), name: expect.stringMatching(NAME), pollAfter: 0, state: "Waiting" },
        approve: expect.stringMatching(/^kubectl patch machinejoin workers-/),
      },
    });
    const { name = "", uid = "" } = json;
    const { spec } = world.joins.get(name) ?? {};
    expect(spec).toMatchObject({ pool: "workers", machineId: "box-1", nodeName: "m-1", facts: { os: "Linux" } });
    expect(spec?.approved).toBeUndefined();
    expect(world.redeemed).toEqual([
      { joinToken: TOKEN, machineId: "box-1", nodeName: "m-1", publicKey: spec?.publicKey },
    ]);
    expect((await world.ask("GET", `/v1/join/${uid}`)).json).toMatchObject({ state: "Waiting" });
    const polled = world.ask("GET", `/v1/join/${uid}?seen=Waiting`);
    await expect.poll(() => world.heads.at(-1)).toContain(`${uid}?seen`);
    world.report(name, { state: "Issued", certificate: machine.certificate });
    const answer = (await polled).json;
    expect(answer).toMatchObject({ state: "Issued", certificate: machine.certificate, ca: world.ca });
    expect(JSON.parse(answer.kubeletConfig ?? "")).toMatchObject({ rotateCertificates: true });
  });

  test("and asks again with its key gets the same join; with another name it does not", async () => {
    const first = await ask();
    expect((await ask()).json.uid).toBe(first.json.uid);
    expect(world.joins.size).toBe(1);
    expect(await ask({ machineId: "box-2" })).toMatchObject({ status: 409, json: { code: "KEY_TAKEN" } });
  });

  test("shows the customer no command as a fact, and no address that is none", async () => {
    const facts = {
      os: "Linux",
      kernel: "kubectl delete ns shop",
      runtime: "a | b",
      zone: "z-1",
      address: "10.0.0.7 sh x",
    };
    const { name = "" } = (await ask({ facts })).json;
    expect(world.joins.get(name)?.spec.facts).toEqual({ os: "Linux", zone: "z-1" });
  });

  test("is told once why the customer refused it", async () => {
    const { name = "", uid } = (await ask()).json;
    world.report(name, { state: "Denied" }, { deniedReason: "unknown\nbox" });
    expect((await world.ask("GET", `/v1/join/${uid}`)).json).toMatchObject({ state: "Denied", message: "unknown box" });
  });

  test("reads each field of a text in base64", async () => {
    const { text } = await world.ask("GET", "/v1/hello", { text: true });
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => line.split(" "));
    const fields = Object.fromEntries(
      lines.map(([field, value = ""]) => [field, Buffer.from(value, "base64").toString()]),
    );
    expect(fields).toEqual({ version: "0.1.0", serverVersion: "v1.36.3", now: expect.stringMatching(/^\d{10}$/) });
  });
});

describe("a machine is refused", () => {
  test.each<readonly [string, object, number, string]>([
    ["without a name", { machineId: undefined }, 400, "BAD_REQUEST"],
    ["with a name of another form", { nodeName: "m-1.x" }, 400, "BAD_REQUEST"],
    ["with a request for another name", { nodeName: "m-2" }, 400, "BAD_REQUEST"],
    ["with a request that is none", { request: "AAAA" }, 400, "BAD_REQUEST"],
    ["with a name outside of the pool's", { nodeName: "control-plane-1" }, 400, "BAD_REQUEST"],
  ])("%s", async (_, changed, status, code) => {
    expect(await ask(changed)).toMatchObject({ status, json: { code } });
    expect(world.redeemed).toEqual([]);
    expect(world.rejected).toEqual(["bad-request"]);
  });

  test("with a name that the pool does not give, before its token is used", async () => {
    world.pools = [pool("workers", "dep_1", { namePrefix: "w-" })];
    const { status, json } = await ask();
    expect({ status, code: json.code }).toEqual({ status: 409, code: "NAME_NOT_ALLOWED" });
    expect(json.message).toContain("begin with w-");
    expect(world.redeemed).toEqual([]);
  });

  test("when a thousand machines of the pool wait or were refused today; one of them that asks again is not", async () => {
    const first = await ask();
    const [join] = world.joins.values();
    if (join === undefined) throw new Error("no join");
    const asked = (index: number, more: object) =>
      world.joins.set(`workers-${index}`, {
        ...join,
        metadata: { ...join.metadata, name: `workers-${index}`, ...more },
      });
    for (let index = 0; index < 1_009; index += 1) asked(index, {});
    const other = machineRequest("m-2");
    const late = { machineId: "box-2", nodeName: "m-2", request: other.request };
    expect(await ask(late)).toMatchObject({ status: 503, json: { code: "TOO_MANY_JOINS" } });
    expect((await ask()).json.uid).toBe(first.json.uid);
    // Denied, and yesterday's.
    world.report("workers-7", { state: "Denied" });
    expect(await ask(late)).toMatchObject({ status: 503 });
    asked(7, { creationTimestamp: "2026-01-01T00:00:00Z" });
    world.report("workers-7", { state: "Denied" });
    expect((await ask(late)).status).toBe(202);
  });

  test.each(["//", "http://[", "/v1/join//"])("with an address that is none: %s", async (url) => {
    expect(await world.ask("GET", url)).toMatchObject({ status: 404, json: { code: "NOT_FOUND" } });
    expect(world.rejected).toEqual(["not-found"]);
  });

  test("without a pool, before its token is used", async () => {
    world.pools = [];
    const { status, json, headers } = await ask();
    expect({ status, code: json.code, after: headers["retry-after"] }).toEqual({
      status: 503,
      code: "NO_POOL",
      after: "60",
    });
    expect(world.redeemed).toEqual([]);
  });

  test("with a token of a deployment that has no pool here", async () => {
    world.deploymentId = "dep_2";
    expect(await ask()).toMatchObject({ status: 503, json: { code: "NO_POOL" } });
    expect(world.joins.size).toBe(0);
  });

  test("by a pool that is closed, and by one that says no API server", async () => {
    world.pools = [pool("workers", "dep_1", { until: "2026-01-01T00:00:00Z" })];
    expect(await ask()).toMatchObject({ status: 409, json: { code: "POOL_CLOSED" } });
    const { apiServer: _, ...spec } = pool("workers", "dep_1").spec;
    world.pools = [{ ...pool("workers", "dep_1"), spec }];
    expect(await ask()).toMatchObject({ status: 503, json: { code: "NO_API_SERVER" } });
  });

  test.each<readonly [string, number, number, string]>([
    ["JOIN_TOKEN_INVALID", 401, 401, "bad-token"],
    ["JOIN_TOKEN_REVOKED", 401, 401, "bad-token"],
    ["VALIDATION_FAILED", 400, 401, "bad-token"],
    ["JOIN_TOKEN_EXHAUSTED", 409, 409, "token-used-up"],
    ["MACHINE_ID_TAKEN", 409, 409, "taken"],
    ["UNAUTHORIZED", 401, 503, "platform"],
    ["NETWORK_ERROR", 0, 503, "platform"],
    ["BUDGET_EXCEEDED", 429, 503, "platform"],
    ["INTERNAL", 500, 503, "platform"],
  ])("when the platform says %s (%i): %i, %s", async (code, said, status, reason) => {
    platformSays(code, said);
    expect((await ask()).status).toBe(status);
    expect(world.rejected).toEqual([reason]);
    expect(world.joins.size).toBe(0);
  });

  test("without a token, and no answer ever holds one", async () => {
    const { status } = await world.ask("POST", "/v1/join", { body: bodyOf() });
    expect(status).toBe(401);
    platformSays("JOIN_TOKEN_INVALID", 401);
    expect((await ask()).text).not.toContain(TOKEN);
  });
});

describe("an attacker", () => {
  test("who tries tokens is refused for ten minutes, also with a good one; polls go on", async () => {
    platformSays("JOIN_TOKEN_INVALID", 401);
    for (let turn = 0; turn < 10; turn += 1) expect((await ask()).status).toBe(401);
    world.refusal = undefined;
    const { status, headers } = await ask();
    expect({ status, after: headers["retry-after"] }).toEqual({ status: 429, after: "600" });
    expect((await world.ask("GET", "/v1/hello")).status).toBe(200);
  });

  test("who sends too much is cut off, whether the length is said or not", async () => {
    const body = Buffer.alloc(20_000, 0x20);
    expect((await world.ask("POST", "/v1/join", { body, token: TOKEN })).status).toBe(413);
    expect(world.redeemed).toEqual([]);
    expect(world.rejected).toEqual(["too-large"]);
  });

  test("who floods gets 20 answers and then 429", async () => {
    await world.close();
    // Time stands still: on a busy machine the requests would be spread over seconds, each with an allowance of its own.
    world = await JoinWorld.start(new FakeClock());
    const statuses: unknown[] = [];
    for (let count = 0; count < 25; count += 1) statuses.push((await world.ask("GET", "/v1/hello")).status);
    expect(statuses).toEqual([...Array(20).fill(200), ...Array(5).fill(429)]);
  });

  test("who guesses a uid learns nothing", async () => {
    await ask();
    for (const uid of ["00000000-0000-4000-8000-00000000ffff", "x", "..%2fhello"]) {
      expect((await world.ask("GET", `/v1/join/${uid}`)).status).toBe(404);
    }
  });

  test("who speaks TLS 1.2, or no TLS, gets no byte of an answer", async () => {
    const old = connectTls({ port: world.port, host: "127.0.0.1", maxVersion: "TLSv1.2", rejectUnauthorized: false });
    await expect(
      new Promise((resolve, reject) => old.on("error", reject).on("secureConnect", resolve)),
    ).rejects.toThrow();
    const plain = connectTcp(world.port, "127.0.0.1");
    plain.on("error", () => undefined).end("GET /v1/hello HTTP/1.1\r\n\r\n");
    await new Promise((resolve) => plain.on("close", resolve).resume());
    expect(world.heads).toEqual([]);
    await expect.poll(() => world.rejected).toEqual(["handshake", "handshake"]);
  });

  test("two addresses with all connections there are, which say nothing, keep no machine out", async () => {
    const silent = ["127.0.0.2", "127.0.0.3"].flatMap((localAddress) =>
      Array.from({ length: 512 }, () =>
        connectTcp({ port: world.port, host: "127.0.0.1", localAddress }).on("error", () => undefined),
      ),
    );
    await Promise.all(silent.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    const answers = await Promise.all(Array.from({ length: 4 }, () => world.ask("GET", "/v1/hello")));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const socket of silent) socket.destroy();
  });

  test("who sends two tokens is asked for one: a proxy may have judged the other", async () => {
    const socket = connectTls({ port: world.port, host: "127.0.0.1", rejectUnauthorized: false });
    socket.write(
      `GET /v1/hello HTTP/1.1\r\nhost: a\r\nauthorization: Join ${TOKEN}\r\nAuthorization: Join b\r\nconnection: close\r\n\r\n`,
    );
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]*send the header authorization once/);
  });

  test("who sends a head slowly is cut, and before one who sends a body slowly", async () => {
    const slow = (words: string) => {
      const socket = connectTls({ port: world.port, host: "127.0.0.1", rejectUnauthorized: false });
      socket.on("error", () => undefined).write(words);
      return { socket, closed: new Promise((resolve) => socket.on("close", resolve).resume()) };
    };
    const body = slow(
      `POST /v1/join HTTP/1.1\r\nhost: a\r\nauthorization: Join ${TOKEN}\r\ncontent-length: 9\r\n\r\n{`,
    );
    const head = slow("GET /v1/hello HTTP/1.1\r\n");
    await head.closed;
    expect(world.rejected).toEqual(["slow"]);
    expect(body.socket.destroyed).toBe(false);
    await body.closed;
    expect(world.rejected).toEqual(["slow", "slow"]);
  });

  test("who replays a machine's join gets a certificate for a key that only the machine has", async () => {
    const first = await ask();
    const replayed = await ask();
    expect(replayed.json.uid).toBe(first.json.uid);
    const [join] = world.joins.values();
    expect(join?.spec.publicKey).not.toBe(createHash("sha256").update("").digest("hex"));
    expect(world.joins.size).toBe(1);
  });
});

test("a stop answers what waits", async () => {
  await world.close();
  // On a clock that stands still neither its own end nor the grace of the stop comes.
  world = await JoinWorld.start(new FakeClock());
  const { uid } = (await ask()).json;
  const polled = world.ask("GET", `/v1/join/${uid}?seen=Waiting`);
  await expect.poll(() => world.heads.at(-1)).toContain(uid ?? "-");
  await world.close();
  expect([200, 503]).toContain((await polled).status);
});
