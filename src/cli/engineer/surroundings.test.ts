import { expect, it } from "vitest";
import { processSurroundings } from "./surroundings.ts";

it("a program of the engineer's own answers with its code and texts, and one that is not there with nothing", async () => {
  const { signal } = new AbortController();
  const run = (program: string, ...args: string[]) => processSurroundings.runTool?.(program, args, signal);
  const script = "console.log('said'); console.error('why'); process.exitCode = 3";
  expect(await run(process.execPath, "-e", script)).toEqual({ code: 3, stdout: "said\n", stderr: "why\n" });
  expect(await run("no-such-program-of-sallyport")).toBeUndefined();
});
