import { join } from "node:path";
import { sourceRecipe } from "../../lab/cluster/go-build.ts";
import { ensureRecipe } from "../../lab/cluster/programs.ts";
import { type ProgramResult, runProgram } from "./prometheus.ts";

const FOLDER = join(import.meta.dirname, "pint");

/** Path of pint, Cloudflare's linter for Prometheus's rules, built with Go at the first call on a machine. */
export async function pintProgram(say: (line: string) => void, signal: AbortSignal): Promise<string> {
  const recipe = await sourceRecipe({
    name: "pint",
    source: FOLDER,
    package: "github.com/cloudflare/pint/cmd/pint",
    files: ["go.mod", "go.sum"],
    linkerFlags: "-s -w",
    title: "pint v0.60.0 (a linter for Prometheus's rules)",
    expectation: "about 4 minutes on 2 cores, once",
  });
  return join(await ensureRecipe(recipe, { say }, signal), "pint");
}

/** Its checks that need no Prometheus; problems of no consequence (severity Information) are left out. */
export function runPint(program: string, files: readonly string[], cwd: string): Promise<ProgramResult> {
  const config = join(FOLDER, "pint.hcl");
  const options = ["--no-color", "--offline", "--config", config, "lint", "--min-severity=warning"];
  return runProgram(program, [...options, ...files], cwd);
}
