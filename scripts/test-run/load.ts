import { spawn } from "node:child_process";

// Looks now and then whether its parent is still there: one that was killed has ended no child.
const BURN = "const parent = process.ppid; while (process.ppid === parent) for (let n = 0; n < 1e7; n += 1);";

/** Keeps that many processes busy, at normal priority, until the result is called or this process is gone. */
export function startLoad(processes: number): () => void {
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, ["--eval", BURN], { stdio: "ignore" }),
  );
  const stop = () => {
    for (const child of children) child.kill("SIGKILL");
  };
  process.once("exit", stop);
  return stop;
}
