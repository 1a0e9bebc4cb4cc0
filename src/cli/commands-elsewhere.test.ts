import { expect, test } from "vitest";
import { CLUSTER_COMMANDS } from "./cluster-commands.ts";
import { COMMANDS_ELSEWHERE, commandElsewhere } from "./commands-elsewhere.ts";
import { platformCommand } from "./platform/platform-command.ts";
import { runCli } from "./run-cli.ts";

test("knows each command of the images that the npm package has not", () => {
  const inImages = [...CLUSTER_COMMANDS, platformCommand].map(({ name }) => name).filter((name) => name !== "version");
  expect([...COMMANDS_ELSEWHERE].sort()).toEqual(inImages.sort());
});

test("a command of the images is answered with where it is, and any other word with nothing", async () => {
  expect(commandElsewhere("projects")).toBeUndefined();
  expect(commandElsewhere(undefined)).toBeUndefined();
  const said: string[] = [];
  const streams = { out: (text: string) => void said.push(text), error: (text: string) => void said.push(text) };
  const platform = commandElsewhere("platform");
  expect(platform).toBeDefined();
  const code = await runCli(
    platform === undefined ? [] : [platform],
    ["platform", "--data", "x"],
    streams,
    new AbortController().signal,
  );
  expect(code).toBe(2);
  expect(said.join("")).toContain("It is in the image platform, and in a checkout: npm run sallyport -- platform");
});
