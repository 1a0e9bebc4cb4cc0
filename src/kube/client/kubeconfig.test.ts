import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { connect } from "./connection.ts";
import { loadKubeconfig } from "./kubeconfig.ts";

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
  ["a token file that is not there", { user: { tokenFile: "/t" } }, /no way in: token file \/t cannot be read/],
  [
    "groups to act as of no user",
    { user: { token: "t", "as-groups": ["g"] } },
    /no way in: it acts as groups.*name one \(as\)/,
  ],
  ["no current context", { more: { "current-context": "" } }, /names no current context; choose one/],
  ["a number as a token", { user: { token: 5 } }, /cannot be read: users\[0\].user.token is no text$/],
  ["data that are no base64", { user: { "client-certificate-data": "-", "client-key-data": "-" } }, /is not base64/],
  ["a provider of old", { user: provider("gcp") }, /no way in: its auth-provider gcp is not known here.*exec plugin/],
  ["OIDC without a token", { user: provider("oidc") }, /id-token is missing or has expired.*log in again.*exec plugin/],
  ["OIDC with something else", { user: provider("oidc", { "id-token": "abc" }) }, /id-token is missing or has expired/],
  [
    "OIDC with a token of yesterday, also where it could be renewed",
    { user: provider("oidc", { "id-token": idToken(NEW_YEAR - 1), "refresh-token": "r", "client-id": "c" }) },
    /id-token is missing or has expired/,
  ],
  [
    "a program that is not there",
    {
      user: {
        exec: {
          apiVersion: "client.authentication.k8s.io/v1",
          command: "no-such-program",
          interactiveMode: "Never",
          installHint: "get it\u001b[31m there",
        },
      },
    },
    /its program no-such-program fails \(.*ENOENT\); run it by hand; get it\?\[31m there$/,
  ],
  [
    "a certificate that is not there",
    { user: { "client-certificate": "/no/crt", "client-key": "/no/key" } },
    /no way in: ENOENT.*\/no\/crt/,
  ],
  [
    "a proxy of an unknown kind",
    { user: { token: "t" }, cluster: { "proxy-url": "socks4://127.0.0.1:1080" } },
    /proxy of a kind that is not known here: http, https or socks5/,
  ],
])("with %s it says what to do", async (_, written, words) => {
  await expect(open(written)).rejects.toThrow(words);
});

const credential = (status: object): string =>
  JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status });

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
  [
    "prints it of another version",
    `echo '${credential({ token: "secret" }).replace("/v1", "/v1beta1")}'`,
    /plugin fails \(it prints no ExecCredential of client.authentication.k8s.io\/v1\); run it by hand$/,
  ],
  ["prints nothing to go in with", `echo '${credential({})}'`, /fails \(it prints neither a token nor a certificate\)/],
  [
    "prints a certificate without its key",
    `echo '${credential({ clientCertificateData: "secret" })}'`,
    /fails \(it prints a certificate or a key, and not both\)/,
  ],
  [
    "prints an end that is no time",
    `echo '${credential({ token: "secret", expirationTimestamp: "soon" })}'`,
    /fails \(it prints an expirationTimestamp that is no time\)/,
  ],
])("a program that %s is named, and its output is not told", async (_, body, words) => {
  const failed = await open({ user: await program(body) }).catch((error: Error) => error);
  expect(failed).toMatchObject({ message: expect.stringMatching(words) });
  expect(inspect(failed, { depth: 9 })).not.toContain("secret");
});

test("a file that is no YAML is named, and what is in it is not told", async () => {
  const kubeconfig = join(folder, "broken");
  await writeFile(kubeconfig, "users: [\n- name: ann\n  token: secret\n");
  const failed = await connect({ kubeconfig, environment: {} }).catch((error: Error) => error);
  expect(failed).toMatchObject({ message: expect.stringMatching(/^kubeconfig .*broken cannot be read: /) });
  expect(inspect(failed, { depth: 9 })).not.toContain("secret");
});

test("several files are one: of each name the first file's counts, paths start at their file", async () => {
  const [ours, theirs] = [join(folder, "ours"), join(folder, "theirs")];
  await mkdir(theirs);
  await writeFile(join(theirs, "token"), "theirs\n");
  const user = (name: string, more: object) => ({ users: [{ name, user: more }] });
  const cluster = (port: number) => ({ clusters: [{ name: "it", cluster: { server: `https://127.0.0.1:${port}` } }] });
  await writeFile(ours, JSON.stringify({ ...cluster(1), ...user("bob", { token: "ours" }) }));
  const context = (name: string, who: string) => ({ name, context: { cluster: "it", user: who, namespace: who } });
  const rest = { contexts: [context("it", "bob"), context("other", "ann")], "current-context": "it" };
  const users = [...user("bob", { token: "late" }).users, ...user("ann", { tokenFile: "token" }).users];
  await writeFile(join(theirs, "config"), JSON.stringify({ ...cluster(2), ...rest, users }));
  const paths = [join(folder, "none"), ours, join(theirs, "config")];
  const clock = new FakeClock();
  const bob = await loadKubeconfig(paths, undefined, clock);
  expect(bob).toMatchObject({ server: "https://127.0.0.1:1", namespace: "bob" });
  expect(await bob.credentials.authorization()).toBe("Bearer ours");
  const ann = await loadKubeconfig(paths, "other", clock);
  expect(await ann.credentials.authorization()).toBe("Bearer theirs");
  await expect(loadKubeconfig([join(folder, "none")], undefined, clock)).rejects.toMatchObject({ code: "ENOENT" });
});

test("a program is told of the cluster, and asked again after a 401", async () => {
  const asked = join(folder, "asked");
  const exec = await program(`echo "$KUBERNETES_EXEC_INFO" >> ${asked}; echo '${credential({ token: "t" })}'`);
  const config = {
    clusters: [{ name: "it", cluster: { server: "https://127.0.0.1:1" } }],
    users: [{ name: "ann", user: exec }],
  };
  const contexts = [{ name: "it", context: { cluster: "it", user: "ann" } }];
  await writeFile(join(folder, "told"), JSON.stringify({ ...config, contexts, "current-context": "it" }));
  const { credentials } = await loadKubeconfig([join(folder, "told")], undefined, new FakeClock());
  expect(await credentials.authorization()).toBe("Bearer t");
  const lines = async (): Promise<readonly string[]> => (await readFile(asked, "utf8")).trim().split("\n");
  expect(JSON.parse((await lines())[0] ?? "")).toMatchObject({ kind: "ExecCredential", spec: { interactive: false } });
  expect(await lines()).toHaveLength(1);
  credentials.invalidate();
  expect(await credentials.authorization()).toBe("Bearer t");
  expect(await lines()).toHaveLength(2);
});

test("a program that never answers is waited for a minute, not for ever", async () => {
  const clock = new FakeClock();
  const started = join(folder, "started");
  const opened = open({ user: await program(`echo > ${started}; exec sleep 5`) }, clock).catch((error: Error) => error);
  await expect.poll(() => clock.pending, { timeout: 60_000 }).toBe(1);
  clock.advance(60_000);
  expect(await opened).toMatchObject({ message: expect.stringMatching(/fails \(no answer within 60 s\); run it/) });
});
