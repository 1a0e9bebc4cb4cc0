import { readFile } from "node:fs/promises";
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

/** From package.json, the one place that has it. */
export async function version(): Promise<string> {
  const content: unknown = JSON.parse(await readFile(new URL("../../../package.json", import.meta.url), "utf8"));
  if (typeof content === "object" && content !== null && "version" in content) return String(content.version);
  throw new Error("package.json has no version");
}
