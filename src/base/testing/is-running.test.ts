import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { isRunning } from "./is-running.ts";
import { until } from "./until.ts";

it("takes no process for running that has ended and is not yet reaped", async () => {
  // `sleep` never asks how the child has ended that the shell before it had.
  const parent = spawn("/bin/sh", ["-c", "sleep 600 & echo $!; exec sleep 600"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [line] = await once(parent.stdout, "data");
  const pid = Number(line);
  expect(isRunning(pid)).toBe(true);
  process.kill(pid, "SIGKILL");
  await until(async () => !isRunning(pid));
  if (process.platform === "linux") expect(process.kill(pid, 0)).toBe(true);
});

it.each([0, -1, Number.NaN])("takes %s for no process", (pid) => {
  expect(isRunning(pid)).toBe(false);
});
