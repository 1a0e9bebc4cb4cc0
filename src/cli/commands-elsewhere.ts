import { type Command, UsageError } from "./kernel/command.ts";

/** Commands that the npm package does not have. */
export const SERVICES_ELSEWHERE = [
  "agent",
  "operator",
  "tunnel",
  "machine-controller",
  "join",
  "check",
  "platform",
] as const;

/** Says where a service is that the npm package does not have. @returns undefined for a word that is no service's. */
export function serviceElsewhere(name: string | undefined): Command | undefined {
  if (!SERVICES_ELSEWHERE.some((each) => each === name) || name === undefined) return undefined;
  const image = name === "platform" ? "platform" : "sallyport, which the chart installs";
  const words = `${name} is a service. It is in the image ${image}, and in a checkout: npm run sallyport -- ${name}`;
  return {
    name,
    summary: words,
    help: async () => `${words}\n`,
    run: () => Promise.reject(new UsageError(words)),
  };
}
