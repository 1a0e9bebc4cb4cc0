import { ApiError } from "../../api-client/api-error.ts";
import { FriendlyError } from "../kernel/command.ts";
import { escaped } from "../kernel/output.ts";

/** Exit codes for scripts. A code never changes its meaning. */
export const EXIT_CODES = {
  done: { code: 0, about: "done" },
  failed: { code: 1, about: "failed here: a file, a profile, a bug; deployments diff: there is a difference" },
  usage: { code: 2, about: "called wrongly" },
  attention: { code: 3, about: "resources list --attention: there are some" },
  credential: { code: 4, about: "not signed in, or not allowed (401, 403)" },
  notFound: { code: 5, about: "no such object, or not visible (404)" },
  conflict: { code: 6, about: "its state does not allow it, or another call was first (409)" },
  unavailable: { code: 7, about: "the platform could not be reached or cannot answer now (429, 5xx): try again" },
  notRun: {
    code: 8,
    about:
      "access, debug, machines, rollouts: rejected, expired, failed, or ended by another than you; plugin test: it said no, or no cluster",
  },
  timeout: { code: 9, about: "access, machines, rollouts: --timeout (or --once) ended before it was decided and run" },
  refused: { code: 10, about: "the platform refused the request as it is (400 and other 4xx)" },
  damaged: { code: 11, about: "debug verify, recording: the file is damaged, or another" },
  longer: { code: 12, about: "debug verify: the audit file has the record of --head, and others after it" },
} as const;

export function describeExitCodes(): string {
  return Object.values(EXIT_CODES)
    .map(({ code, about }) => `  ${code}  ${about}`)
    .join("\n");
}

/** The API's 404, as {@link friendly} has it. */
export function isNotFound(error: unknown): boolean {
  return error instanceof FriendlyError && error.exitCode === EXIT_CODES.notFound.code;
}

/**
 * The API's refusal as text: code, message, hint, the issues, and what to quote to support; where no answer of the API came, who was
 * asked.
 */
export function friendly(error: unknown, platformUrl: string): unknown {
  if (!(error instanceof ApiError)) return error;
  const { code, message, hint, context, requestId } = error;
  const { issues: given, ...rest } = context;
  const issues = issuesOf(given);
  // The message has the issues too, in one line: with issues, only they are printed, each on its own line.
  const lines = issues.length === 0 ? [`${code}: ${message}`] : [code, ...issues.map((issue) => `  ${issue}`)];
  if (Object.keys(rest).length > 0) lines.push(`  ${JSON.stringify(rest)}`);
  if (error.isTransport) lines.push(`  address: ${hostAndPort(platformUrl)}`);
  if (hint !== undefined && !namesAbsent(hint, rest)) lines.push(`  hint: ${withFlags(hint)}`);
  if (requestId !== undefined) lines.push(`  request id: ${requestId}`);
  return new FriendlyError(escaped(lines.join("\n"), "\n"), { cause: error, exitCode: exitCodeOf(error) });
}

/** Nothing else of the address: its path may hold a secret of the network's. */
function hostAndPort(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/** What the API calls `?project=` is a flag here. */
function withFlags(hint: string): string {
  return hint.replaceAll(/\?([a-z]+)=(?=<)/g, "--$1 ");
}

/** The hint is about a field of the context that is not printed as such: the API sent none, or its issues have lines. */
function namesAbsent(hint: string, printed: Readonly<Record<string, unknown>>): boolean {
  const field = /\bcontext\.(\w+)/.exec(hint)?.[1];
  return field !== undefined && !(field in printed);
}

function issuesOf(issues: unknown): readonly string[] {
  if (!Array.isArray(issues)) return [];
  return issues.map(
    (issue: { readonly path?: unknown; readonly message?: unknown }) => `${issue.path} ${issue.message}`,
  );
}

function exitCodeOf({ status, retryable }: ApiError): number {
  if (status === 401 || status === 403) return EXIT_CODES.credential.code;
  if (status === 404) return EXIT_CODES.notFound.code;
  if (status === 409) return EXIT_CODES.conflict.code;
  if (retryable || status === 0 || status === 429 || status >= 500) return EXIT_CODES.unavailable.code;
  return EXIT_CODES.refused.code;
}
