import type { Subject } from "./subject.ts";
import type { Target } from "./target.ts";

/** client-go sends `timeout` with any request that has one; `pretty` only asks for line breaks. */
const ALWAYS = ["timeout", "pretty"];
/** `kubectl get --sort-by` asks for whole objects beside the table. */
const GET = ["resourceVersion", "includeObject"];
const LIST = [
  ...[...GET, "labelSelector", "fieldSelector", "limit", "continue", "resourceVersionMatch"],
  // A list is a watch by its query: both take the same words.
  ...["watch", "allowWatchBookmarks", "sendInitialEvents", "timeoutSeconds"],
];
const OF_SUBRESOURCE: Readonly<Record<string, readonly string[]>> = {
  // Not insecureSkipTLSVerifyBackend: an engineer decides nothing about whom the API server believes.
  log: [
    ...["container", "follow", "previous", "sinceSeconds", "sinceTime", "timestamps", "tailLines", "limitBytes"],
    "stream",
  ],
  exec: ["container", "command", "stdin", "stdout", "stderr", "tty"],
  // The ports stand in the stream.
  portforward: [],
};
/** The schemas of one version of a group, as they were when `hash` was told. */
const DISCOVERY = ["hash"];
const REVIEW = ["dryRun", "fieldManager", "fieldValidation"];

/**
 * The first name in the query that this request may not have. Those that it may have are what kubectl and other programs
 * made with client-go send: an option of the API server's that is not known here does not go up.
 *
 * @param subject undefined for discovery
 */
export function unknownQueryName({ query }: Target, subject: Subject | undefined): string | undefined {
  const known = [...ALWAYS, ...namesFor(subject)];
  return query.find(({ name }) => !known.includes(name))?.name;
}

function namesFor(subject: Subject | undefined): readonly string[] {
  if (subject === undefined) return DISCOVERY;
  const { verb, subresource } = subject;
  if (subresource !== undefined)
    return Object.hasOwn(OF_SUBRESOURCE, subresource) ? (OF_SUBRESOURCE[subresource] ?? []) : [];
  if (verb === "create") return REVIEW;
  return verb === "get" ? GET : LIST;
}
