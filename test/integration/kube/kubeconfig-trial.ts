import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { findPrograms } from "../../../lab/cluster/programs.ts";
import { kubeconfigPaths } from "../../../src/cli/kernel/kubeconfig-paths.ts";
import { connect } from "../../../src/kube/client/connection.ts";
import { signal } from "../../world/wait.ts";
import { type Recorded, RecordingServer } from "./recording-server.ts";

// Kubeconfigs, each given to kubectl and to our client.

/** What the cases of a file are written with. */
export let server: RecordingServer;
export let ann: { readonly certificate: string; readonly key: string };
let folder: string;
let kubectl: string;
let rows = 0;

/** Starts what the cases of a test file need, and ends it. */
export function useTrial(): void {
  beforeAll(async () => {
    server = await RecordingServer.start();
    folder = await mkdtemp(join(tmpdir(), "kubeconfig-trial-"));
    ({ kubectl } = await findPrograms({}, AbortSignal.timeout(590_000)));
    ann = server.authority.issue({ commonName: "ann" });
  }, 600_000);
  afterAll(async () => {
    await server?.close();
    await rm(folder, { recursive: true, force: true });
  });
}

export const base64 = (text: string): string => Buffer.from(text).toString("base64");
export const ca = (): string => base64(server.authority.certificate);

/** The parts of a row's files. */
export interface Row {
  readonly url: string;
  readonly folder: string;
}

export interface Written {
  readonly cluster?: object;
  readonly user?: object;
  readonly context?: object;
  /** Over the whole file. */
  readonly more?: object;
}

export function config({ url }: Row, { cluster, user = { token: "t" }, context, more }: Written = {}): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "it",
    contexts: [{ name: "it", context: { cluster: "c", user: "u", ...context } }],
    clusters: [{ name: "c", cluster: cluster ?? { server: url, "certificate-authority-data": ca() } }],
    users: [{ name: "u", user }],
    ...more,
  };
}

type Files = Readonly<Record<string, string | Buffer | object>>;

export interface Case {
  readonly files: (row: Row) => Files;
  /** Of KUBECONFIG, in the row's folder. @default ["config"] */
  readonly paths?: readonly string[];
  readonly env?: (row: Row) => Readonly<Record<string, string>>;
}

export interface Seen {
  readonly requests: readonly Recorded[];
  /** What programs were given, parsed. */
  readonly asked: readonly unknown[];
  /** Of kubectl: what it printed. Of ours: the error. */
  readonly error: string | undefined;
}

/** @param asksKubectl false: it has been asked in another run, and each time costs a process */
export async function tryBoth(
  { files, paths = ["config"], env }: Case,
  asksKubectl = true,
): Promise<{ readonly kubectl: Seen | undefined; readonly ours: Seen }> {
  rows += 1;
  const name = `row-${rows}`;
  const row = { url: `https://127.0.0.1:${server.port}/${name}`, folder: join(folder, name) };
  for (const [file, content] of Object.entries(files(row))) {
    await mkdir(dirname(join(row.folder, file)), { recursive: true });
    await writeFile(
      join(row.folder, file),
      typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content),
    );
    if (file.endsWith(".sh")) await chmod(join(row.folder, file), 0o755);
  }
  const KUBECONFIG = paths.map((path) => (path === "" ? "" : join(row.folder, path))).join(":");
  const environment = {
    HOME: row.folder,
    PATH: process.env.PATH ?? "",
    KUBECONFIG,
    ASKED: join(row.folder, "asked"),
    ...env?.(row),
  };
  const seen = async (error: string | undefined): Promise<Seen> => {
    const asked = await readFile(join(row.folder, "asked"), "utf8").catch(() => "");
    await rm(join(row.folder, "asked"), { force: true });
    const lines = asked.split("\n").filter(Boolean);
    // A program whose answer has expired is run for each use by kubectl, by us once a second.
    const requests = server.take(name);
    return { requests, asked: [...new Set(lines)].map((line) => JSON.parse(line) as unknown), error };
  };
  const byKubectl = asksKubectl ? await seen(await askKubectl(environment)) : undefined;
  const ours = await probe(kubeconfigPaths(environment), environment);
  return { kubectl: byKubectl, ours: await seen(ours) };
}

function askKubectl(env: Readonly<Record<string, string>>): Promise<string | undefined> {
  return new Promise((done) => {
    const args = ["get", "--raw", "/probe"];
    const child = execFile(kubectl, args, { env, timeout: 60_000 }, (error, _out, words) =>
      done(error === null ? undefined : words),
    );
    child.stdin?.end();
  });
}

async function probe(
  kubeconfig: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  try {
    const connection = await connect({ kubeconfig, environment });
    try {
      const answer = await connection.request({ method: "GET", path: "/probe" }, signal());
      await answer.body.dump();
      return undefined;
    } finally {
      await connection.close();
    }
  } catch (error) {
    return String(error);
  }
}

export const V1 = "client.authentication.k8s.io/v1";
export const V1BETA1 = "client.authentication.k8s.io/v1beta1";

/** A program that writes down what it was given and prints `status`. */
export function plugin(status: object, apiVersion = V1): string {
  const credential = JSON.stringify({ apiVersion, kind: "ExecCredential", status });
  return `#!/bin/sh\nprintf '%s\\n' "$KUBERNETES_EXEC_INFO" >> "$ASKED"\nprintf '%s' '${credential}'\n`;
}

export const exec = (more: object = {}): object => ({
  exec: { apiVersion: V1, command: "./plugin.sh", interactiveMode: "IfAvailable", ...more },
});
export const withPlugin = (user: object, script: string, cluster?: (row: Row) => object): Case => ({
  files: (row) => ({
    config: config(row, { user, ...(cluster && { cluster: cluster(row) }) }),
    "plugin.sh": script,
    "ca.pem": server.authority.certificate,
  }),
});
export const one = (written: (row: Row) => Written): Case => ({
  files: (row) => ({ config: config(row, written(row)) }),
});
export const asCluster = (more: (row: Row) => object): Case =>
  one((row) => ({ cluster: { server: row.url, "certificate-authority-data": ca(), ...more(row) } }));
export const asUser = (user: () => object): Case => one(() => ({ user: user() }));
