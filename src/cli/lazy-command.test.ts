import { expect, test } from "vitest";
import { lazyCommand } from "./lazy-command.ts";
import { versionCommand } from "./version-command.ts";

const signal = new AbortController().signal;

test("the code is loaded by the call, not before", async () => {
  let loaded = 0;
  const lazy = lazyCommand("version", "Prints it.", async () => {
    loaded += 1;
    return versionCommand;
  });
  expect(loaded).toBe(0);
  expect(await lazy.help([])).toContain("usage: sallyport version");
  expect(loaded).toBe(1);
});

test("code that is not there is told as such, any other failure as it is", async () => {
  const missing = Object.assign(new Error("Cannot find module"), { code: "ERR_MODULE_NOT_FOUND" });
  const run = (error: Error) => lazyCommand("dev", "", () => Promise.reject(error)).run([], signal);
  await expect(run(missing)).rejects.toThrow("not part of this image");
  await expect(run(new Error("broken"))).rejects.toThrow("broken");
});
