import { FriendlyError } from "../../kernel/command.ts";
import { type CallRoute, type Surroundings, signedIn } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import type { SessionFlags } from "../session.ts";
import { type Bundle, readBundle } from "./bundle-file.ts";
import { checkModule, type Loading } from "./module-loading.ts";
import { problemLines } from "./problem.ts";

const TELL_EACH_MS = 1_000;

/** Checks the archive's module as `plugin check` does, uploads the archive and registers the plugin in the project. @returns what the platform answers */
export async function uploadPlugin(
  file: string,
  project: string | undefined,
  flags: SessionFlags,
  surroundings: Surroundings,
  loading: Loading,
  signal: AbortSignal,
): Promise<unknown> {
  const bundle = await readBundle(file);
  const names = bundle.metadata.operations.map(({ name }) => name);
  const { problems } = await checkModule(bundle.module, names, loading, signal);
  if (problems.length > 0) throw new FriendlyError(`${file} does not pass its check:${problemLines(problems)}`);
  return await signedIn(surroundings, flags, signal, (call) => upload(bundle, project, call, surroundings, signal));
}

async function upload(
  { metadata, bytes }: Bundle,
  project: string | undefined,
  call: CallRoute,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<unknown> {
  const { name, version, tier } = metadata;
  const query = project === undefined ? {} : { project };
  const place = (await call("operations", "uploadUrl", { params: {}, query, body: { name } }, signal)) as {
    readonly uploadUrl: string;
    readonly contentType: string;
  };
  await told(`uploading ${bytes.length} bytes`, surroundings, () =>
    put(place.uploadUrl, place.contentType, bytes, signal),
  );
  const body = { name, version, tier };
  return await told("the platform reads the archive", surroundings, () =>
    call("operations", "registerPlugin", { params: {}, query, body }, signal),
  );
}

async function put(
  url: string,
  contentType: string,
  bytes: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Promise<void> {
  const unavailable = { exitCode: EXIT_CODES.unavailable.code };
  const headers = { "content-type": contentType };
  const sent = fetch(url, { method: "PUT", headers, body: bytes, signal, redirect: "error" });
  const response = await sent.catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    throw new FriendlyError("the archive could not be uploaded: its store cannot be reached", {
      cause,
      ...unavailable,
    });
  });
  await response.body?.cancel();
  if (!response.ok) throw new FriendlyError(`the store of archives answered ${response.status}`, unavailable);
}

/** What lasts more than a second says so, each second: a person must see that the program lives. */
async function told<T>(what: string, { clock, error }: Surroundings, work: () => Promise<T>): Promise<T> {
  const startMs = clock.monotonicMs();
  let cancel: () => void;
  const tell = (): void => {
    error(`${what}: ${Math.round((clock.monotonicMs() - startMs) / 1_000)} s\n`);
    cancel = clock.after(TELL_EACH_MS, tell);
  };
  cancel = clock.after(TELL_EACH_MS, tell);
  try {
    return await work();
  } finally {
    cancel();
  }
}
