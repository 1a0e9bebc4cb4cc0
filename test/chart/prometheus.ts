import { execFile } from "node:child_process";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ProgramsError, type Recipe } from "../../lab/cluster/go-build.ts";
import { findOnPath } from "../../lab/cluster/path-search.ts";
import { ensureRecipe } from "../../lab/cluster/programs.ts";

const run = promisify(execFile);

export interface PrometheusPrograms {
  readonly prometheus: string;
  readonly promtool: string;
}

export interface ProgramResult {
  readonly code: number;
  /** Its standard output and its standard error. */
  readonly output: string;
}

/**
 * Prometheus and promtool from the PATH, or from Debian's package, which is fetched and unpacked into the cache.
 * Nothing is installed: this needs no root and starts no service. To build them with Go takes a quarter of an hour.
 */
export async function prometheusPrograms(
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<PrometheusPrograms> {
  const [prometheus, promtool] = await Promise.all([findOnPath("prometheus"), findOnPath("promtool")]);
  if (prometheus !== undefined && promtool !== undefined) return { prometheus, promtool };
  if ((await findOnPath("apt-get")) === undefined) {
    throw new ProgramsError(
      "Prometheus is needed: put prometheus and promtool on the PATH. Here is no apt-get to fetch them with.",
    );
  }
  const bin = join(await ensureRecipe(DEBIAN, { say }, signal), "usr/bin");
  return { prometheus: join(bin, "prometheus"), promtool: join(bin, "promtool") };
}

const DEBIAN: Recipe = {
  folderName: `prometheus-debian-${process.arch}`,
  title: "Prometheus, Debian's package",
  expectation: "about 10 seconds, once",
  async build(into, say, signal) {
    // apt gets its own package lists: the machine's may be old, missing, or not writable for us.
    const state = join(into, "apt");
    for (const folder of ["lists/partial", "archives/partial"]) await mkdir(join(state, folder), { recursive: true });
    const settings = [`Dir::State::lists=${state}/lists`, `Dir::Cache=${state}`, "APT::Sandbox::User=root"];
    const apt = async (...args: readonly string[]): Promise<void> => {
      say(`  apt-get ${args[0]}`);
      const options = settings.flatMap((each) => ["-o", each]);
      await run("apt-get", ["-qq", ...options, ...args], { cwd: into, signal, maxBuffer: 16 * 1024 ** 2 });
    };
    await apt("update");
    await apt("download", "prometheus");
    const [file] = (await readdir(into)).filter((name) => name.endsWith(".deb"));
    if (file === undefined) throw new ProgramsError("apt-get download left no package of Prometheus.");
    await run("dpkg-deb", ["-x", file, "."], { cwd: into, signal });
    await run("rm", ["-rf", state, file], { cwd: into });
  },
};

export function runProgram(program: string, args: readonly string[], cwd: string): Promise<ProgramResult> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd, timeout: 100_000, maxBuffer: 64 * 1024 ** 2 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, output: `${stdout}${stderr}` });
    });
  });
}
