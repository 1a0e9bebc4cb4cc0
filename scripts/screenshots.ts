// `node scripts/screenshots.ts`: runs a story while a real Prometheus scrapes it, and takes the pictures of
// docs/metrics.md. Needs Debian's prometheus and chromium (apt-get install --no-install-recommends prometheus
// chromium). Passes its arguments to Prometheus, such as --web.local-assets where its pages lie elsewhere.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { sleep, systemClock } from "../src/base/clock.ts";
import { RULE_FILES, startMetricsWorld } from "../test/integration/metrics-world.ts";

const OUT = join(import.meta.dirname, "../docs/images");
const HEADLESS = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
  ...["--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--disable-web-security"],
];
/** Alerts fire after this time in the pictures, so that the script need not wait for an hour. */
const FOR = "20s";
const GRAPHS = [
  'max by (state) (sallyport_grants{state=~"Pending|Approved|Completed|Denied"})',
  "cluster_namespace:sallyport_heartbeat_age:seconds",
];

const run = promisify(execFile);
const stack = new AsyncDisposableStack();
const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("stopped")));

async function picture(url: string, file: string, height: number): Promise<void> {
  const profile = await mkdtemp(join(tmpdir(), "sallyport-chromium-"));
  const shot = [`--screenshot=${join(OUT, file)}`, `--window-size=1100,${height}`, "--virtual-time-budget=15000"];
  await run("chromium", [...HEADLESS, `--user-data-dir=${profile}`, ...shot, url], { timeout: 120_000 });
  await rm(profile, { recursive: true, force: true });
}

async function hastened(folder: string): Promise<readonly string[]> {
  const files: string[] = [];
  for (const file of RULE_FILES) {
    const copy = join(folder, basename(file));
    await writeFile(copy, (await readFile(file, "utf8")).replaceAll(/^(\s+for: )\S+$/gm, `$1${FOR}`));
    files.push(copy);
  }
  return files;
}

function graphPage(url: string): string {
  const fields = GRAPHS.map((expr, at) => ({
    [`g${at}.expr`]: expr,
    [`g${at}.tab`]: "0",
    [`g${at}.range_input`]: "3m",
  }));
  return `${url}/graph?${new URLSearchParams(Object.assign({}, ...fields))}`;
}

/** Prometheus' own page, without the paths of this machine. */
async function alertsPage(url: string, folder: string): Promise<string> {
  const page = await (await fetch(`${url}/classic/alerts`)).text();
  const file = join(folder, "alerts.html");
  await writeFile(file, page.replaceAll(`${folder}/`, "").replace("<head>", `<head><base href="${url}/">`));
  return `file://${file}`;
}

try {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-pictures-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const options = { ruleFiles: await hastened(folder), more: process.argv.slice(2) };
  const metrics = await startMetricsWorld(join(folder, "world"), stack, stop.signal, options);
  stack.defer(() => stop.abort(new Error("done")));
  for (let replicas = 2; replicas < 8; replicas += 1) {
    const id = await metrics.ask(replicas);
    await sleep(systemClock, 8_000, stop.signal);
    await (replicas % 4 === 0 ? metrics.deny(id) : metrics.approve(id));
    await sleep(systemClock, 7_000, stop.signal);
  }
  await metrics.ask(8);
  await sleep(systemClock, 10_000, stop.signal);
  await metrics.world.processes.platform.kill();
  await sleep(systemClock, 40_000, stop.signal);
  await mkdir(OUT, { recursive: true });
  await picture(graphPage(metrics.prometheus.url), "graphs.png", 1_700);
  await picture(await alertsPage(metrics.prometheus.url, folder), "alerts.png", 1_850);
} finally {
  await stack.disposeAsync();
}
