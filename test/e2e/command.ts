import { spawn } from "node:child_process";

export interface CommandOptions {
  /** Added to our own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  /** @default 600_000 */
  readonly timeoutMs?: number;
  /** Gets each line as it comes, of both outputs. */
  readonly onLine?: (line: string) => void;
}

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The end of a program's output is enough to see why it failed. */
const TAIL_CHARACTERS = 3_000;

/** Runs a program to its end. @throws Error with the end of its output when it fails. */
export async function command(
  program: string,
  args: readonly string[],
  options: CommandOptions,
  signal: AbortSignal,
): Promise<string> {
  const { code, stdout, stderr } = await answer(program, args, options, signal);
  if (code === 0) return stdout;
  const said = `${stdout}\n${stderr}`.trim().slice(-TAIL_CHARACTERS);
  throw new Error(`${program} ${args.join(" ").slice(0, 300)} ended with ${code}:\n${said}`);
}

/**
 * Runs a program to its end, also when it fails. @throws signal.reason on abort; Error when it does not start or end.
 */
export async function answer(
  program: string,
  args: readonly string[],
  { env = {}, cwd, stdin, timeoutMs = 600_000, onLine }: CommandOptions,
  signal: AbortSignal,
): Promise<Answer> {
  signal.throwIfAborted();
  const limit = AbortSignal.timeout(timeoutMs);
  // Its own process group: a stop must reach what the program started, and the terminal's Ctrl-C must not reach it
  // before us.
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, detached: true });
  const stop = () => killGroup(child.pid);
  const both = AbortSignal.any([signal, limit]);
  both.addEventListener("abort", stop, { once: true });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
      if (onLine !== undefined) for (const line of text.split("\n")) if (line.trim() !== "") onLine(line);
    });
  }
  child.stdin.on("error", () => undefined); // The program ended without reading it.
  child.stdin.end(stdin ?? "");
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (exit) => resolve(exit ?? 1));
    });
    signal.throwIfAborted();
    if (limit.aborted) throw new Error(`${program} ${args[0] ?? ""} had not ended after ${timeoutMs / 1000} s`);
    return { code, ...said };
  } finally {
    both.removeEventListener("abort", stop);
  }
}

/** Runs a line of bash with pipes; it fails if any part fails. Values come in by `env`, never as text of the script. */
export function bash(script: string, options: CommandOptions, signal: AbortSignal): Promise<string> {
  return command("bash", ["-euo", "pipefail", "-c", script], options, signal);
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
