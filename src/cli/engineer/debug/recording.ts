import { createHash } from "node:crypto";
import { isRecord } from "../../../base/is-record.ts";
import type { DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import { verifyAudit } from "../../../debug-link/audit-chain.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { escaped } from "../../kernel/output.ts";
import type { Surroundings } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { contentOf, download } from "./session-files.ts";

/** What the audit says of the recording, or why it says nothing. */
type Word = { readonly bytes: number; readonly sha256: string } | string;

/**
 * `debug recording`: fetches it, and compares it with the size and hash in the audit's last record, whose own hash the
 * platform and the customer's cluster have.
 *
 * @returns the exit code
 */
export async function fetchRecording(
  session: DebugSession,
  to: string | undefined,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const { error } = surroundings;
  const hash = createHash("sha256");
  let bytes = 0;
  await download(session, "recording", to, surroundings, signal, (chunk) => {
    bytes += chunk.length;
    hash.update(chunk);
  });
  const word = await wordOf(session, signal);
  if (typeof word === "string") error(`it was compared with nothing: ${escaped(word, "")}\n`);
  else if (word.bytes !== bytes || word.sha256 !== hash.digest("hex")) {
    error(
      `it is not the recording of the session: the audit tells of ${word.bytes} bytes with SHA-256 ${word.sha256}\n`,
    );
    return EXIT_CODES.damaged.code;
  } else error(`${bytes} bytes, as the audit says\n`);
  if (to === undefined) error("to play it: --to FILE, then asciinema play FILE\n");
  else error(`play it with: asciinema play ${escaped(to, "")}\n`);
  return EXIT_CODES.done.code;
}

async function wordOf(session: DebugSession, signal: AbortSignal): Promise<Word> {
  const parts: Buffer[] = [];
  try {
    for await (const chunk of await contentOf(session, "audit", signal)) parts.push(chunk);
  } catch (thrown) {
    if (!(thrown instanceof FriendlyError)) throw thrown;
    return thrown.message;
  }
  const audit = Buffer.concat(parts);
  if (verifyAudit(audit, session.auditHead ?? undefined).problems.length > 0) {
    return `the audit is damaged; see sallyport debug audit ${session.id} --to FILE and debug verify FILE`;
  }
  const words = audit
    .toString("utf8")
    .split("\n")
    .flatMap((line) => (line.includes('"type":"close"') ? [JSON.parse(line) as unknown] : []))
    .flatMap((record) => (isRecord(record) && isWord(record.recording) ? [record.recording] : []));
  return words.at(-1) ?? "the audit says nothing of it, as when the tunnel was lost";
}

function isWord(value: unknown): value is Exclude<Word, string> {
  return isRecord(value) && typeof value.bytes === "number" && /^[0-9a-f]{64}$/.test(String(value.sha256));
}
