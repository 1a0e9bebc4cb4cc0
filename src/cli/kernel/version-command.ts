import { readFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { type Command, UsageError } from "./command.ts";

const SUMMARY = "Prints the version of Sallyport and of the Node that runs it.";

export const versionCommand: Command = versionCommandOf("sallyport");

/** @param program what the person types before it */
export function versionCommandOf(program: string): Command {
  return { name: "version", summary: SUMMARY, help: async () => `usage: ${program} version\n\n${SUMMARY}\n`, run };
}

async function run(args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new UsageError(`version takes no arguments, not ${args.join(" ")}`);
  process.stdout.write(`sallyport ${await version()} (Node ${process.versions.node})\n`);
  return 0;
}

/** From the package.json above this file, in the checkout, in an image and in the npm package: the one place that has it. */
export async function version(): Promise<string> {
  const file = findPackageJSON("..", import.meta.url);
  if (file === undefined) throw new Error("there is no package.json");
  const content: unknown = JSON.parse(await readFile(file, "utf8"));
  if (typeof content === "object" && content !== null && "version" in content) return String(content.version);
  throw new Error("package.json has no version");
}
