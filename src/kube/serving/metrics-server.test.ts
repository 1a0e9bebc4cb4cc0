import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as plainRequest } from "node:http";
import { request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, type SecureVersion, type TLSSocket } from "node:tls";
import { Counter, Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { CertificateAuthority, type KeyAndCertificate } from "../../../lab/cluster/certificates.ts";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { MetricsServer } from "./metrics-server.ts";
import type { ReaderAnswer } from "./reader-access.ts";

const HOST = "sallyport-agent.sallyport-system.svc";
const authority = new CertificateAuthority("test");
const issue = (): KeyAndCertificate => authority.issue({ commonName: HOST, hosts: [HOST] });

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly serial: string;
}

async function serve(answers?: () => ReaderAnswer, silenceMs = 500) {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-metrics-tls-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const write = async ({ certificate, key }: KeyAndCertificate): Promise<void> => {
    await writeFile(join(folder, "tls.crt"), certificate);
    await writeFile(join(folder, "tls.key"), key);
  };
  const registry = new Registry();
  new Counter({ name: "things_total", help: "Things.", registers: [registry] }).inc(3);
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  const access = answers && { answer: async () => answers() };
  const server = new MetricsServer({
    silenceMs,
    port: 0,
    host: "127.0.0.1",
    folder,
    registry,
    access,
    clock,
    log: silentLogger,
  });
  onTestFinished(() => server.close());
  const get = (path: string, method = "GET"): Promise<Answer> => {
    const options = { host: "127.0.0.1", port: server.port, path, method, ca: authority.certificate, agent: false };
    return new Promise((resolve, reject) => {
      const asked = request({ ...options, servername: HOST }, (response) => {
        const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
        response.setEncoding("utf8");
        let body = "";
        response.on("data", (part: string) => (body += part));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body, serial: serialNumber }));
      });
      asked.on("error", reject).end();
    });
  };
  return { server, folder, write, get, clock };
}

test("the metrics and nothing else, to a client that checks the certificate's name", async () => {
  const { server, write, get } = await serve();
  await write(issue());
  await server.listen();
  const { status, body } = await get("/metrics?name=x");
  expect(status).toBe(200);
  expect(body).toContain("\nthings_total 3\n");
  expect((await get("/livez")).status).toBe(404);
  expect((await get("/metrics", "POST")).status).toBe(405);
});

test.each([401, 403, 429, 503] as const)("a reader who is answered %d sees no metric", async (answer) => {
  const { server, write, get } = await serve(() => answer);
  await write(issue());
  await server.listen();
  expect(await get("/metrics")).toMatchObject({ status: answer, body: "" });
});

test("a certificate that was replaced is served without a restart, one that does not fit is not", async () => {
  const { server, folder, write, get, clock } = await serve();
  await write(issue());
  await server.listen();
  const stop = new AbortController();
  const running = server.run(stop.signal);
  const { serial: first } = await get("/metrics");
  const second = issue();
  await writeFile(join(folder, "tls.crt"), second.certificate);
  const look = async (): Promise<string> => {
    clock.advance(10_000);
    return (await get("/metrics")).serial;
  };
  for (let looks = 0; looks < 5; looks += 1) expect(await look()).toBe(first);
  await write(second);
  await expect.poll(look).not.toBe(first);
  stop.abort(new Error("over"));
  await running;
});

test("plain HTTP gets no answer", async () => {
  const { server, write, get } = await serve();
  await write(issue());
  await server.listen();
  const asked = new Promise((_, reject) => {
    plainRequest({ host: "127.0.0.1", port: server.port, path: "/metrics" }, () => reject(new Error("answered")))
      .on("error", reject)
      .end();
  });
  await expect(asked).rejects.toMatchObject({ code: "ECONNRESET" });
  expect((await get("/metrics")).status).toBe(200);
});

test.each([
  ["TLSv1.1", "DEFAULT@SECLEVEL=0"],
  ["TLSv1.2", "ECDHE-ECDSA-AES128-SHA256"],
] as const)("%s with %s is refused", async (version: SecureVersion, ciphers) => {
  const { server, write } = await serve();
  await write(issue());
  await server.listen();
  const options = { host: "127.0.0.1", port: server.port, ca: authority.certificate, servername: HOST, ciphers };
  const socket = connectTls({ ...options, minVersion: version, maxVersion: version });
  const outcome = await new Promise((resolve) => {
    socket.once("secureConnect", () => resolve("connected")).once("error", () => resolve("refused"));
  });
  socket.destroy();
  expect(outcome).toBe("refused");
});

test("without a certificate it does not start, and says where it looked", async () => {
  const { server, folder } = await serve();
  await expect(server.listen()).rejects.toThrow(`no certificate for the metrics in ${folder}: ENOENT`);
});

test("a connection on which nothing is asked is cut", async () => {
  const { server, write } = await serve();
  await write(issue());
  await server.listen();
  const shaken = connectTls({ host: "127.0.0.1", port: server.port, ca: authority.certificate, servername: HOST });
  const silent = connect(server.port, "127.0.0.1");
  const ends = [shaken, silent].map(
    (socket) => new Promise((resolve) => socket.on("error", () => undefined).once("close", resolve)),
  );
  await Promise.all(ends);
});

test("a client that takes all its connections takes none of another's", async () => {
  const { server, write, get } = await serve(undefined, 60_000);
  await write(issue());
  await server.listen();
  const closed: string[] = [];
  const greedy = Array.from({ length: 70 }, () =>
    connect({ port: server.port, host: "127.0.0.1", localAddress: "127.0.0.2" }).on("error", () => undefined),
  );
  for (const socket of greedy) socket.once("close", () => closed.push("closed"));
  await expect.poll(() => closed.length).toBe(6);
  expect((await get("/metrics")).status).toBe(200);
  for (const socket of greedy) socket.destroy();
});

test("a close is not held up by connections that shake no hands or ask nothing", async () => {
  const { server, write, get } = await serve();
  await write(issue());
  await server.listen();
  const silent = connect(server.port, "127.0.0.1").on("error", () => undefined);
  const shaken = connectTls({ host: "127.0.0.1", port: server.port, ca: authority.certificate, servername: HOST });
  shaken.on("error", () => undefined);
  await new Promise((resolve) => shaken.once("secureConnect", resolve));
  await get("/metrics");
  await server.close();
  expect(silent.destroyed || (await new Promise((resolve) => silent.once("close", () => resolve(true))))).toBe(true);
});
