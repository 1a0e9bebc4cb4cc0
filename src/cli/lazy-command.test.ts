import { expect, test } from "vitest";
import { versionCommand } from "./kernel/version-command.ts";
import { lazyCommand } from "./lazy-command.ts";

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
