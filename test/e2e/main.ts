// `npm run test:e2e`: everything real on a kind cluster. `--help` says more.

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { helmProgram } from "../chart/helm.ts";
import { Unavailable } from "./daemon.ts";
import { findDocker } from "./docker.ts";
import { installSallyport } from "./installation.ts";
import { createKindCluster } from "./kind-cluster.ts";
import { nodeImage } from "./node-image.ts";
import { endAbandoned, keepOwnDaemon } from "./own-daemon.ts";
import { productImage } from "./product-image.ts";
import { APPROVER, SCENE_FILE, type Scene } from "./scene.ts";
import { openVendor } from "./vendor.ts";

const HELP = `usage: npm run test:e2e -- [--keep] [options of vitest, names of test files]
       npm run test:e2e -- --end

Makes a kind cluster of three nodes, builds the image and loads it, installs the chart, runs the platform, and plays the
tests. Needs Docker, or root on Debian: then it installs and starts one by itself, and ends it afterwards.

  --keep   leaves the cluster for looking around; the platform ends with this process
  --end    ends what --keep or a killed run has left
`;

/** How automake's tests say that they could not run here; scripts/test.mjs knows it. */
const SKIPPED = 77;

const startedAt = Date.now();
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => stop.abort(new Error(`stopped by ${name}`)));
}

function say(line: string): void {
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  process.stdout.write(`e2e ${String(seconds).padStart(4)} s  ${line}\n`);
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    process.stdout.write(HELP);
    return 0;
  }
  if (args.includes("--end")) {
    const ended = await endAbandoned(stop.signal, { kept: true });
    say(ended.length === 0 ? "nothing was left" : `ended ${ended.join(", ")}`);
    return 0;
  }
  const keep = args.includes("--keep");
  await using stack = new AsyncDisposableStack();
  try {
    const { file, left, kubeconfig } = await build(stack, stop.signal);
    const code = await runTests(
      file,
      args.filter((arg) => arg !== "--keep"),
    );
    stop.signal.throwIfAborted();
    if (keep) await leave(left, kubeconfig);
    else say("cleaning up; --keep would have left the cluster");
    return code;
  } catch (error) {
    if (stop.signal.aborted) {
      say(`${stop.signal.reason.message}: cleaning up`);
      return 130;
    }
    if (!(error instanceof Unavailable)) throw error;
    process.stdout.write(`\ne2e SKIPPED: ${error.message}\n`);
    return SKIPPED;
  }
}

interface Built {
  readonly file: string;
  readonly kubeconfig: string;
  /** What stays with `--keep`. */
  readonly left: { readonly stack: AsyncDisposableStack; readonly byHand: readonly string[] };
}

/** Whatever is started is on `stack` at once. */
async function build(stack: AsyncDisposableStack, signal: AbortSignal): Promise<Built> {
  const left = stack.use(new AsyncDisposableStack());
  const folder = await mkdtemp(join(tmpdir(), "sallyport-e2e-"));
  left.defer(() => rm(folder, { recursive: true, force: true }));
  const docker = await findDocker(say, signal);
  left.defer(() => docker.stop());
  say(docker.description);
  const nodes = await nodeImage(docker, say, signal);
  say(`nodes: ${nodes}`);
  const image = await productImage(docker, join(folder, "papers"), say, signal);
  say(`image: ${image.name}, ${Math.round(image.sizeBytes / 1e6)} MB`);
  const cluster = await createKindCluster(docker, { image: nodes, folder: join(folder, "cluster") }, say, signal);
  left.defer(() => cluster.delete());
  say(`cluster: ${cluster.name}, a control plane and two workers`);
  await cluster.load(image.name, signal);
  say("image loaded onto each node");
  const vendor = await openVendor(join(folder, "vendor"), docker.hostAddress ?? cluster.gateway, signal);
  stack.defer(() => vendor.stop());
  say(`platform: serves ${vendor.scene.url}, with a certificate of a private authority`);
  const { name, adminKubeconfig, kubectl, controlPlaneAddress } = cluster;
  const approver = await cluster.kubeconfigFor(APPROVER, signal);
  const helm = await helmProgram(say, signal);
  const programs = { kubectl, helm };
  const scene: Scene = {
    folder,
    docker: docker.env,
    cluster: { name, adminKubeconfig, controlPlaneAddress, approver },
    programs,
    image,
    vendor: vendor.scene,
  };
  const file = join(folder, "scene.json");
  await writeFile(file, JSON.stringify(scene));
  const { readyInMs } = await installSallyport(scene, {}, signal);
  say(`sallyport: installed and ready in ${(readyInMs / 1_000).toFixed(1)} s`);
  const byHand = [cluster.deletion, ...(docker.endByHand === undefined ? [] : [docker.endByHand])];
  return { file, kubeconfig: adminKubeconfig, left: { stack: left, byHand } };
}

function runTests(scene: string, args: readonly string[]): Promise<number> {
  const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs");
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [vitest, "run", "--project", "e2e", ...args], {
      stdio: "inherit",
      env: { ...process.env, [SCENE_FILE]: scene },
    });
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
    // The terminal's Ctrl-C has reached it already; a signal to us alone has not.
    stop.signal.addEventListener("abort", () => child.kill("SIGTERM"), { once: true });
  });
}

async function leave({ stack, byHand }: Built["left"], kubeconfig: string): Promise<void> {
  if (byHand.length > 1) await keepOwnDaemon();
  stack.move();
  say("the cluster stays. To look around:");
  process.stdout.write(`\n  export KUBECONFIG=${kubeconfig}\n\nTo delete it:\n\n  ${byHand.at(-1)}\n\n`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stdout.write(`e2e FAILED: ${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
}
