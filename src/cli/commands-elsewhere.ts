import { type Command, UsageError } from "./kernel/command.ts";

/** Commands that the npm package does not have. */
export const COMMANDS_ELSEWHERE = [
  "agent",
  "operator",
  "tunnel",
  "machine-controller",
  "join",
  "check",
  "platform",
] as const;

/** Says where a command is that the npm package does not have. @returns undefined for any other word */
export function commandElsewhere(name: string | undefined): Command | undefined {
  if (!COMMANDS_ELSEWHERE.some((each) => each === name) || name === undefined) return undefined;
  const image = name === "platform" ? "platform" : "sallyport, which the chart installs";
  const words = `${name} is no command of this package. It is in the image ${image}, and in a checkout: npm run sallyport -- ${name}`;
  return {
    name,
    summary: words,
    help: async () => `${words}\n`,
    run: () => Promise.reject(new UsageError(words)),
  };
}
