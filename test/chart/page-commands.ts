import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { HelmResult } from "./helm.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The shell blocks of one section of a page. @throws Error when there is no such section */
export function pageCommands(page: string, heading: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const section = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`${page} has no section ${heading}`);
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands = ""]) => commands);
}

interface Surroundings {
  readonly folders: readonly string[];
  readonly kubeconfig: string;
  readonly home: string;
  /** Default: the project's root. */
  readonly cwd?: string;
}

/** Runs one of them with these programs and nothing else of the person who runs the tests. */
export function runCommands(commands: string, given: Surroundings): Promise<HelmResult> {
  const { folders, kubeconfig, home, cwd = ROOT } = given;
  const env = { PATH: [...folders, "/usr/bin", "/bin"].join(":"), HOME: home, KUBECONFIG: kubeconfig };
  const options = { cwd, env, maxBuffer: 64 * 1024 ** 2, timeout: 120_000 };
  return new Promise((resolve) => {
    execFile("bash", ["-euo", "pipefail", "-c", commands], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : 1, stdout, stderr });
    });
  });
}
