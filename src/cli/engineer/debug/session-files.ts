import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isPlainLoopback } from "../../../base/loopback.ts";
import type { DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import { verifyAudit } from "../../../debug-link/audit-chain.ts";
import { FriendlyError, UsageError } from "../../kernel/command.ts";
import { escaped } from "../../kernel/output.ts";
import type { Surroundings } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";

/** Larger than the platform takes. */
const MAX_BYTES = 128 * 1024 * 1024;

type SessionFile = "audit" | "recording";

/** A session's audit or recording, as the platform's store has it. @throws FriendlyError also while it is read */
export async function contentOf(
  { id, presignedUrls }: DebugSession,
  name: SessionFile,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer>> {
  const file = presignedUrls[name];
  if (file === undefined) throw new FriendlyError("the platform keeps no files of sessions");
  const url = file.readUrl;
  if (url === "") {
    const words = `the ${name} of ${id} is for the engineer who asked for the session, and for admins`;
    throw new FriendlyError(words, { exitCode: EXIT_CODES.credential.code });
  }
  if (!url.startsWith("https:") && !isPlainLoopback(url)) throw new FriendlyError("the file's address is not https");
  const response = await fetch(url, { signal, redirect: "error" }).catch((cause: unknown) => {
    throw new FriendlyError("the file could not be fetched", { cause, exitCode: EXIT_CODES.unavailable.code });
  });
  if (response.status === 404 || response.status === 403) {
    await response.body?.cancel();
    throw new FriendlyError(`there is no ${name} of ${id}: it comes at the session's end, if the customer sends it`, {
      exitCode: EXIT_CODES.notFound.code,
    });
  }
  if (!response.ok || response.body === null) {
    throw new FriendlyError(`the file's store answered ${response.status}`, { exitCode: EXIT_CODES.unavailable.code });
  }
  return bounded(Readable.fromWeb(response.body));
}

/** Fetches one, to a file for its owner alone, or to standard output. @param look gets the bytes as they are stored */
export async function download(
  session: DebugSession,
  name: SessionFile,
  to: string | undefined,
  { out, error, isTTY }: Surroundings,
  signal: AbortSignal,
  look: (bytes: Buffer) => void = () => undefined,
): Promise<void> {
  const body = looked(await contentOf(session, name, signal), look);
  if (to !== undefined) {
    await pipeline(body, createWriteStream(to, { mode: 0o600, flags: "wx" }), { signal }).catch((cause: unknown) => {
      throw isExisting(cause) ? new FriendlyError(`${to} exists`, { cause }) : cause;
    });
    error(`${name} of ${session.id}: ${escaped(to, "")}\n`);
    return;
  }
  const decoder = new TextDecoder();
  // What a container wrote must not control this terminal. A pipe gets the bytes' text as it is.
  const shown = (text: string): string => (isTTY ? escaped(text, "\n") : text);
  for await (const chunk of body) out(shown(decoder.decode(chunk, { stream: true })));
  out(shown(decoder.decode()));
}

async function* looked(body: AsyncIterable<Buffer>, look: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    look(chunk);
    yield chunk;
  }
}

async function* bounded(body: Readable): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new FriendlyError("the file is larger than a session's can be");
    yield Buffer.from(chunk);
  }
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}

/** `debug verify`: says what is damaged and where. @returns the exit code */
export async function verifyFile(
  file: string | undefined,
  head: string | undefined,
  { out }: Surroundings,
): Promise<number> {
  if (file === undefined) throw new UsageError("usage: sallyport debug verify FILE [--head HEX]");
  if (head !== undefined && !/^[0-9a-f]{64}$/.test(head)) throw new UsageError("--head is 64 hexadecimal digits");
  const content = await readFile(file).catch((cause: unknown) => {
    throw new FriendlyError(`${file} cannot be read`, { cause });
  });
  const { records, head: found, beyond, isClosed, problems } = verifyAudit(content, head);
  if (problems.length > 0) {
    const lines = problems.map(({ line, words }) => `line ${line} ${words}`);
    out(escaped(`${file} is damaged\n${lines.map((line) => `  ${line}\n`).join("")}`, "\n"));
    return EXIT_CODES.damaged.code;
  }
  const name = escaped(file, "");
  if (beyond > 0) {
    const end = isClosed ? "" : ", and the record of the session's end is missing";
    out(`${name} is whole up to --head, and longer than what was told: ${beyond} of its ${records} records come after${end}
A tunnel that died wrote them before it could tell of them. They follow from each other, and nothing but the file vouches for them.
`);
    return EXIT_CODES.longer.code;
  }
  const against = head === undefined ? "; compare its head with auditHead of sallyport debug status" : "";
  out(`${name} is whole: ${records} records, head ${found}${against}\n`);
  return EXIT_CODES.done.code;
}
