// `npm run test:e2e`: the tests with a real kind cluster. `--help` says more.

import { spawn } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pluginLayerRecipe } from "../../lab/cluster/plugin-layer.ts";
import { ensureRecipe } from "../../lab/cluster/programs.ts";
import { helmProgram } from "../chart/helm.ts";
import { type Docker, Unavailable } from "./daemon.ts";
import { findDocker } from "./docker.ts";
import { installSallyport } from "./installation.ts";
import { createKindCluster } from "./kind-cluster.ts";
import { nodeImage } from "./node-image.ts";
import { endAbandonedDaemons } from "./own-daemon.ts";
import { imageToBuildIn, productImage } from "./product-image.ts";
import { endAbandonedRuns, keepRun, makeRunFolder } from "./run-folder.ts";
import { APPROVER, SCENE_FILE, type Scene } from "./scene.ts";
import { openVendor } from "./vendor.ts";

const HELP = `usage: npm run test:e2e -- [--keep] [options of vitest, names of test files]
       npm run test:e2e -- --end

Makes a kind cluster of three nodes, builds the image and loads it, installs the chart, runs the platform, and plays the
tests. Needs Docker, or root on Debian: then it installs and starts one by itself, and ends it afterwards.

  --keep   leaves the cluster for looking around; the platform ends with this process
  --end    ends what --keep or a killed run has left
`;

/** The exit code of automake's tests for "could not run here"; scripts/test.ts knows it. */
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
    const runs = await endAbandonedRuns({ kept: true }, stop.signal);
    const daemons = await endAbandonedDaemons({ kept: true }, stop.signal);
    say(runs + daemons === 0 ? "nothing was left" : `ended ${runs} runs and ${daemons} daemons`);
    return 0;
  }
  const keep = args.includes("--keep");
  await using stack = new AsyncDisposableStack();
  try {
    await endAbandonedRuns({ kept: false }, stop.signal);
    await endAbandonedDaemons({ kept: false }, stop.signal);
    const { scene, file, left, kubeconfig } = await build(stack, stop.signal);
    try {
      const { readyInMs } = await installSallyport(scene, {}, stop.signal);
      say(`sallyport: installed and ready in ${(readyInMs / 1_000).toFixed(1)} s`);
    } catch (error) {
      // What went wrong is in that cluster.
      if (keep && !stop.signal.aborted) await leave(left, kubeconfig);
      throw error;
    }
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
  readonly scene: Scene;
  readonly file: string;
  readonly kubeconfig: string;
  /** What `--keep` leaves running. */
  readonly left: AsyncDisposableStack;
}

/** Each part is on `stack` as soon as it is started. */
async function build(stack: AsyncDisposableStack, signal: AbortSignal): Promise<Built> {
  const left = stack.use(new AsyncDisposableStack());
  const folder = await makeRunFolder();
  left.defer(() => rm(folder, { recursive: true, force: true }));
  const docker = await findDocker(say, signal);
  left.defer(() => docker.stop());
  say(docker.description);
  const built = async (part: "cluster" | "platform", buildImage: string | undefined) => {
    const image = await productImage(docker, part, { buildImage, papers: join(folder, "papers", part) }, signal);
    say(`image: ${image.name}, ${Math.round(image.sizeBytes / 1e6)} MB`);
    return image;
  };
  const [cluster, { image, platformImage }] = await bothOrNone(
    nodes(docker, join(folder, "cluster"), left, signal),
    imageToBuildIn(docker, say, signal).then(async (buildImage) => ({
      image: await built("cluster", buildImage),
      platformImage: await built("platform", buildImage),
    })),
  );
  await cluster.load(image.name, signal);
  say("image loaded onto each node");
  const base = join(folder, "shipped-image.tar");
  await cluster.save(image.name, base, signal);
  const images = { base, tool: await pluginLayer(signal), registry: undefined };
  const vendor = await openVendor(join(folder, "vendor"), docker.hostAddress ?? cluster.gateway, images, signal);
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
    platformImage,
    vendor: vendor.scene,
  };
  const file = join(folder, "scene.json");
  await writeFile(file, JSON.stringify(scene));
  return { scene, file, kubeconfig: adminKubeconfig, left };
}

async function pluginLayer(signal: AbortSignal): Promise<string> {
  return join(await ensureRecipe(await pluginLayerRecipe(), { say }, signal), "plugin-layer");
}

async function nodes(docker: Docker, folder: string, left: AsyncDisposableStack, signal: AbortSignal) {
  const image = await nodeImage(docker, say, signal);
  say(`nodes: ${image}`);
  const cluster = await createKindCluster(docker, { image, folder }, say, signal);
  left.defer(() => cluster.delete());
  say(`cluster: ${cluster.name}, a control plane and two workers`);
  return cluster;
}

/** Waits for both even if one fails, so that nothing is still being made when the clean-up begins. */
async function bothOrNone<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([a, b]);
  return [await a, await b];
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
    // The terminal's Ctrl-C has reached the child already; a signal to us alone has not.
    stop.signal.addEventListener("abort", () => child.kill("SIGTERM"), { once: true });
  });
}

async function leave(left: Built["left"], kubeconfig: string): Promise<void> {
  await keepRun();
  left.move();
  say("the cluster stays. To look around:");
  process.stdout.write(`\n  export KUBECONFIG=${kubeconfig}\n\nTo delete it:\n\n  npm run test:e2e -- --end\n\n`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stdout.write(`e2e FAILED: ${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
}
