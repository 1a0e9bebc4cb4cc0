import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { command } from "../test/e2e/command.ts";
import { CHART_CHANGES } from "./generate/chart/chart-changes.ts";
import { makeRelease, RELEASE_PARTS } from "./release/make-release.ts";
import { type Making, ROOT } from "./release/making.ts";
import { checkPush, pushRelease } from "./release/push.ts";
import { renewPins } from "./release/renew-pins.ts";
import { systemPins } from "./release/system-pins.ts";
import { checkedVersion, ReleaseError } from "./release/version.ts";
import { readOptions, refuse } from "./running/options.ts";

const HELP = `usage: npm run release -- --out FOLDER [options]

Makes a release of the commit that is checked out: npm packages, kubectl's plugin for krew, chart, images for amd64 and
arm64, and for all of it changelog, SBOMs, provenance and checksums. The same commit gives the same bytes. Nothing leaves
this machine without --push. docs/releasing.md says more.

  --out FOLDER       new or empty
  --version X.Y.Z    in place of the tag vX.Y.Z on the commit; package.json must have it
  --only PART        ${RELEASE_PARTS.join(", ")}; may be given more than once; default: all
  --downloads URL    where the files will be fetched; default https://sallyport.dev/releases/vX.Y.Z
  --push             pushes what was made, with --registry, --npm, or both
  --registry NAME    registry and path for images (NAME/sallyport, NAME/platform) and chart (NAME/charts/sallyport)
  --npm              publishes the packages, at the registry and as the user that npm is configured for
  --dirty            a trial: also with changes that no commit has, and without a tag; cannot be pushed
  --renew-pins       takes Node.js of package-lock.json and Debian's libraries of today into the images, and ends
  --help             this text
`;

const SCRIPT = { name: "npm run release", help: HELP };

const startedAt = performance.now();
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));

function say(line: string): void {
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  process.stderr.write(`release ${String(seconds).padStart(4)} s  ${line}\n`);
}

async function main(): Promise<void> {
  const flags = parsed();
  if (flags["renew-pins"]) return renewPins(say, stop.signal);
  const out = freshFolder(flags.out);
  const parts = RELEASE_PARTS.filter((part) => flags.only.length === 0 || flags.only.includes(part));
  const unknown = flags.only.filter((part) => !parts.some((known) => known === part));
  if (unknown.length > 0) refuse(SCRIPT, `--only is one of ${RELEASE_PARTS.join(", ")}, not ${unknown.join()}`);
  checkPush({ push: flags.push, registry: flags.registry, npm: flags.npm, isTrial: flags.dirty, parts });
  const changed = lines(await git("status", "--porcelain"));
  const version = checkedVersion({
    asked: flags.version,
    manifest: versionIn("package.json"),
    chart: versionIn("deploy/helm/sallyport/Chart.yaml"),
    changes: CHART_CHANGES[0]?.version,
    tags: lines(await git("tag", "--points-at", "HEAD")),
    changed,
    isTrial: flags.dirty,
  });
  const locked = versionIn("node_modules/node/package.json");
  if (parts.includes("images") && systemPins().node.version !== locked) {
    throw new ReleaseError(
      `the images have Node.js ${systemPins().node.version}, package-lock.json ${locked}: --renew-pins`,
    );
  }
  const making: Making = {
    version,
    revision: (await git("rev-parse", "HEAD")).trim(),
    at: Number(await git("log", "-1", "--format=%ct")),
    downloads: flags.downloads ?? `https://sallyport.dev/releases/v${version}`,
    say,
    signal: stop.signal,
  };
  say(`Sallyport ${version}: ${parts.join(", ")}`);
  await makeRelease(out, { parts, isDirty: changed.length > 0 }, making);
  if (flags.push) await pushRelease(out, { registry: flags.registry, npm: flags.npm }, say, stop.signal);
  say(`${out}: check it with (cd ${out} && sha256sum --check SHA256SUMS)`);
}

function parsed() {
  const options = {
    out: { type: "string" },
    version: { type: "string" },
    only: { type: "string", multiple: true, default: [] as string[] },
    downloads: { type: "string" },
    push: { type: "boolean", default: false },
    registry: { type: "string" },
    npm: { type: "boolean", default: false },
    dirty: { type: "boolean", default: false },
    "renew-pins": { type: "boolean", default: false },
  } as const;
  return readOptions(SCRIPT, options).values;
}

function freshFolder(out: string | undefined): string {
  if (out === undefined) refuse(SCRIPT, "--out FOLDER is missing");
  const folder = resolve(out);
  if (existsSync(folder) && !statSync(folder).isDirectory()) throw new ReleaseError(`${folder} is no folder`);
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new ReleaseError(`${folder} is not empty: a release needs a folder of its own`);
  }
  return folder;
}

function versionIn(file: string): string {
  const { version } = parse(readFileSync(join(ROOT, file), "utf8")) as { readonly version: string };
  return version;
}

function git(...args: readonly string[]): Promise<string> {
  return command("git", args, { cwd: ROOT }, stop.signal);
}

function lines(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

try {
  await main();
} catch (error) {
  if (!(error instanceof Error)) throw error;
  const isExpected = error instanceof ReleaseError || stop.signal.aborted;
  process.stderr.write(`release: ${isExpected ? error.message : error.stack}\n`);
  process.exitCode = 1;
}
