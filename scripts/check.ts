// `npm run check`: what needs no running of the code. Goes on after a failure, so that one run shows all of them.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { readOptions } from "./running/options.ts";
import { usePlainOutput } from "./running/plain-output.ts";

// It does not read NO_COLOR.
const COLOURS = process.stdout.isTTY ? [] : ["--colors=off"];

const STEPS: readonly { readonly title: string; readonly command: readonly [program: string, ...args: string[]] }[] = [
  { title: "format and lint", command: ["biome", "ci", ...COLOURS, "."] },
  { title: "types", command: ["tsc", "--noEmit"] },
  { title: "unused code", command: ["knip"] },
  { title: "generated files", command: ["node", "scripts/generate.ts", "--check"] },
  { title: "cited rules", command: ["node", "scripts/check-citations.ts"] },
  { title: "shell blocks of the pages", command: ["node", "scripts/check-fences.ts"] },
  { title: "newest full run", command: ["node", "scripts/check-full-run.ts"] },
];

readOptions(
  { name: "npm run check", help: `usage: npm run check\n\nChecks: ${STEPS.map(({ title }) => title).join(", ")}.\n` },
  {},
);

usePlainOutput();
let stoppedBy: NodeJS.Signals | undefined;
const failed: string[] = [];
for (const { title, command } of STEPS) {
  const startedAt = performance.now();
  const running = setInterval(() => process.stdout.write(`check: ${title}: still running\n`), 30_000);
  const isOk = await run(command);
  clearInterval(running);
  if (stoppedBy !== undefined) break;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(`check: ${title}: ${isOk ? "ok" : "FAILED"}, ${seconds} s\n`);
  if (!isOk) failed.push(title);
}
if (stoppedBy !== undefined) {
  process.stdout.write("check: stopped\n");
  process.exitCode = 128 + constants.signals[stoppedBy];
} else {
  process.stdout.write(failed.length === 0 ? "check: ok\n" : `check: failed: ${failed.join(", ")}\n`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

async function run([program, ...args]: readonly [program: string, ...args: string[]]): Promise<boolean> {
  const child = spawn(program, args, { stdio: "inherit" });
  // The terminal's Ctrl-C has reached the child already; a signal to us alone has not.
  const pass = (name: NodeJS.Signals) => {
    stoppedBy ??= name;
    child.kill(name);
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, pass);
  try {
    return await new Promise<boolean>((resolve) => {
      child.once("error", (error) => {
        process.stdout.write(`${program} did not start: ${error.message}\n`);
        resolve(false);
      });
      child.once("close", (code) => resolve(code === 0));
    });
  } finally {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, pass);
  }
}
