import { type ChildProcess, spawn } from "node:child_process";

/** Settings of a run around this one, which would keep the file from being found or count it twice. */
const OF_ANOTHER_RUN = [
  "SALLYPORT_TEST_TIER",
  "SALLYPORT_TEST_ORDER",
  "SALLYPORT_TEST_TIMES",
  "SALLYPORT_TEST_COVERAGE",
];

/** Runs a test file once, by itself. @returns whether it passed, and what was printed */
export async function runFile(
  file: string,
  settings: NodeJS.ProcessEnv,
  started: (child: ChildProcess) => void,
): Promise<{ readonly passed: boolean; readonly output: string }> {
  const isE2e = file.startsWith("test/e2e/");
  const [program, ...args] = isE2e ? ["node", "test/e2e/main.ts"] : ["vitest", "run"];
  const env = Object.fromEntries(Object.entries(settings).filter(([name]) => !OF_ANOTHER_RUN.includes(name)));
  const child = spawn(program ?? "", [...args, file], { env, stdio: ["ignore", "pipe", "pipe"] });
  started(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ passed: code === 0, output }));
  });
}
