import { readFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { type Command, UsageError } from "./command.ts";

export const versionCommand: Command = {
  name: "version",
  summary: "Prints the version of Sallyport and of the Node that runs it.",
  help: async () => "usage: sallyport version\n\nPrints the version of Sallyport and of the Node that runs it.\n",
  async run(args) {
    if (args.length > 0) throw new UsageError(`version takes no arguments, not ${args.join(" ")}`);
    process.stdout.write(`sallyport ${await version()} (Node ${process.versions.node})\n`);
    return 0;
  },
};

/** From the package.json above this file, in the checkout, in an image and in the npm package: the one place that has it. */
export async function version(): Promise<string> {
  const file = findPackageJSON("..", import.meta.url);
  if (file === undefined) throw new Error("there is no package.json");
  const content: unknown = JSON.parse(await readFile(file, "utf8"));
  if (typeof content === "object" && content !== null && "version" in content) return String(content.version);
  throw new Error("package.json has no version");
}
