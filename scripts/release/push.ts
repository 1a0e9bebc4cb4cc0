import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toolRecipe } from "../../lab/cluster/go-build.ts";
import { ensureRecipe } from "../../lab/cluster/programs.ts";
import { command } from "../../test/e2e/command.ts";
import type { ReleasePart } from "./make-release.ts";
import { ReleaseError } from "./version.ts";

const CRANE = {
  name: "crane",
  package: "github.com/google/go-containerregistry/cmd/crane",
  expectation: "seconds on 2 cores after the Kubernetes programs, else half a minute",
} as const;

export interface Targets {
  /** `HOST/PATH` in a registry of images, for images and the chart. */
  readonly registry: string | undefined;
  /** npm's registry, as npm is configured. */
  readonly npm: boolean;
}

export interface PushFlags extends Targets {
  readonly push: boolean;
  readonly isTrial: boolean;
  readonly parts: readonly ReleasePart[];
}

/** @throws ReleaseError where nothing would be pushed that the flags name. */
export function checkPush({ push, registry, npm, isTrial, parts }: PushFlags): void {
  if (push !== (registry !== undefined || npm)) {
    throw new ReleaseError("--push goes with --registry NAME, --npm, or both");
  }
  if (push && isTrial) throw new ReleaseError("a trial with --dirty cannot be pushed");
  if (npm && !parts.includes("npm")) throw new ReleaseError("--npm publishes packages: add --only npm");
  if (registry !== undefined && !parts.includes("images") && !parts.includes("chart")) {
    throw new ReleaseError("--registry takes images and the chart: add --only images, --only chart, or both");
  }
}

/** Pushes what a finished folder of a release has. Images and chart first: npm lets no version be replaced. */
export async function pushRelease(
  out: string,
  { registry, npm }: Targets,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  if (registry !== undefined) {
    const crane = await craneProgram(say, signal);
    for (const part of ["images", "chart"]) {
      for (const file of await filesOf(join(out, part), ".oci.tar")) {
        const [, name = "", version = ""] = /^(.+?)-(\d.*)\.oci\.tar$/.exec(file) ?? [];
        const path = part === "chart" ? `charts/${name}` : name;
        say(`pushing ${registry}/${path}:${version}`);
        await pushArchive(crane, join(out, part, file), `${registry}/${path}:${version}`, signal);
      }
    }
  }
  if (!npm) return;
  for (const file of await filesOf(join(out, "npm"), ".tgz")) {
    say(`publishing ${file}`);
    await command("npm", ["publish", join(out, "npm", file), "--access", "public"], {}, signal);
  }
}

/** Built with Go at the first call on a machine. */
export async function craneProgram(say: (line: string) => void, signal: AbortSignal): Promise<string> {
  return join(await ensureRecipe(await toolRecipe(CRANE), { say }, signal), "crane");
}

async function pushArchive(crane: string, archive: string, reference: string, signal: AbortSignal): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-layout-"));
  try {
    await command("tar", ["-xf", archive, "-C", folder], {}, signal);
    await command(crane, ["push", folder, reference], {}, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function filesOf(folder: string, extension: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith(extension)).sort();
}
