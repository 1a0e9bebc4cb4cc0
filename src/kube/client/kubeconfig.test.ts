import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { connect } from "./connection.ts";

// Kubeconfigs that cannot be served: each says so at once, and what to do.

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Written {
  readonly user?: object;
  readonly cluster?: object;
  readonly more?: object;
}

async function open({ user = {}, cluster = {}, more = {} }: Written, clock = new FakeClock()): Promise<unknown> {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "it",
    contexts: [{ name: "it", context: { cluster: "it", user: "ann" } }],
    clusters: [{ name: "it", cluster: { server: "https://127.0.0.1:1", ...cluster } }],
    users: [{ name: "ann", user }],
    ...more,
  };
  const kubeconfig = join(folder, "config");
  await writeFile(kubeconfig, JSON.stringify(config));
  const connection = await connect({ kubeconfig, environment: {} }, clock);
  return connection.close();
}

const provider = (name: string, config: object = {}) => ({ "auth-provider": { name, config } });
const idToken = (exp: number): string =>
  ["{}", JSON.stringify({ exp }), "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");
const NEW_YEAR = Date.parse("2026-01-01T00:00:00Z") / 1_000;

test.each<readonly [string, Written, RegExp]>([
  ["no user of that name", { user: {}, more: { users: [] } }, /names no user for context it$/],
  ["no cluster of that name", { more: { clusters: [] } }, /names no cluster for context it$/],
  ["a user without anything", {}, /gives user ann no way in: it needs a token, /],
  ["a token file, which is not read", { user: { tokenFile: "/t" } }, /not tokenFile/],
  ["an unknown provider", { user: provider("openstack") }, /it needs a token, .* an exec plugin/],
  ["a provider of old", { user: provider("gcp") }, /gives user ann no way in: Token is expired/],
  ["OIDC without a token", { user: provider("oidc") }, /id-token is missing or has expired.*log in again.*exec plugin/],
  ["OIDC with something else", { user: provider("oidc", { "id-token": "abc" }) }, /id-token is missing or has expired/],
  [
    "OIDC with a token of yesterday, also where it could be renewed",
    { user: provider("oidc", { "id-token": idToken(NEW_YEAR - 1), "refresh-token": "r", "client-id": "c" }) },
    /id-token is missing or has expired/,
  ],
  [
    "a program that is not there",
    { user: { exec: { command: "no-such-program" } } },
    /its program no-such-program fails \(.*ENOENT\); run it by hand/,
  ],
  ["a certificate that is not there", { user: { "client-certificate": "/no/crt" } }, /no way in: ENOENT.*\/no\/crt/],
  [
    "a proxy of an unknown kind",
    { user: { token: "t" }, cluster: { "proxy-url": "socks4://127.0.0.1:1080" } },
    /proxy of a kind that is not known here: http, https or socks5/,
  ],
])("with %s it says what to do", async (_, written, words) => {
  await expect(open(written)).rejects.toThrow(words);
});

async function program(body: string): Promise<object> {
  const command = join(folder, "plugin");
  await writeFile(command, `#!/bin/sh\n${body}\n`);
  await chmod(command, 0o755);
  return { exec: { apiVersion: "client.authentication.k8s.io/v1", command, interactiveMode: "Never" } };
}

test.each([
  ["fails", "echo 'you are not logged in' >&2; exit 1", /plugin fails \(you are not logged in\); run it by hand$/],
  ["prints something else", "echo secret", /plugin fails \(it prints no ExecCredential\); run it by hand$/],
  ["prints half of it", "echo '{}'", /plugin fails \(it prints no ExecCredential\); run it by hand$/],
])("a program that %s is named, and its output is not told", async (_, body, words) => {
  const failed = await open({ user: await program(body) }).catch((error: Error) => error);
  expect(failed).toMatchObject({ message: expect.stringMatching(words) });
  expect(inspect(failed, { depth: 9 })).not.toContain("secret");
});

test("a program that never answers is waited for a minute, not for ever", async () => {
  const clock = new FakeClock();
  const started = join(folder, "started");
  const opened = open({ user: await program(`echo > ${started}; exec sleep 5`) }, clock).catch((error: Error) => error);
  await expect.poll(() => clock.pending, { timeout: 60_000 }).toBe(1);
  clock.advance(60_000);
  expect(await opened).toMatchObject({ message: expect.stringMatching(/fails \(no answer within 60 s\); run it/) });
});
