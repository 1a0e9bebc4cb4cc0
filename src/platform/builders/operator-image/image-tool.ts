import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getCACertificates } from "node:tls";
import type { Clock } from "../../../base/clock.ts";
import { UnbuildableError } from "../runner.ts";

const APPEND_MS = 5 * 60_000;
const PUSH_MS = 10 * 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024;
/** How plugin-layer ends when the registry has refused the image and will refuse it again. */
const REFUSED = 2;
const DIGEST = /^sha256:[0-9a-f]{64}\n$/;

/** Makes and pushes images, by the program plugin-layer as a child process. */
export interface ImageTool {
  /** Adds the tar `layer` to each image of the layout `base`, as the layout `out`. @returns its digest. */
  append(
    order: { readonly base: string; readonly layer: string; readonly out: string },
    signal: AbortSignal,
  ): Promise<string>;
  /**
   * Pushes an image, for all its architectures.
   * @param work a folder for files that the program reads.
   * @throws UnbuildableError when the registry refuses it.
   */
  push(
    order: { readonly layout: string; readonly reference: string; readonly work: string },
    signal: AbortSignal,
  ): Promise<string>;
}

/** The child process has no environment but what is named here: no credential of the platform reaches it. */
export function imageTool(program: string, authFile: string | undefined, clock: Clock): ImageTool {
  const run = (args: readonly string[], env: Record<string, string>, limitMs: number, signal: AbortSignal) =>
    runWithin(clock, limitMs, signal, (ending) => runTool(program, args, env, ending));
  return {
    append: ({ base, layer, out }, signal) => run(["append", base, layer, out], {}, APPEND_MS, signal),
    async push({ layout, reference, work }, signal) {
      // The authorities that this process trusts, NODE_EXTRA_CA_CERTS among them: the image has no others.
      const authorities = join(work, "authorities.pem");
      await writeFile(authorities, getCACertificates("default").join("\n"), { mode: 0o600 });
      const env = { SSL_CERT_FILE: authorities, ...(authFile !== undefined && { REGISTRY_AUTH_FILE: authFile }) };
      return run(["push", layout, reference], env, PUSH_MS, signal);
    },
  };
}

/** @throws Error at the limit. */
async function runWithin<T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
  work: (ending: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(limitMs, () =>
    late.abort(new Error(`the image tool took over ${limitMs / 60_000} minutes`)),
  );
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } finally {
    cancel();
  }
}

/** Kills the program when the signal aborts, and returns when it has ended. */
async function runTool(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const options = { env, cwd: "/", maxBuffer: MAX_OUTPUT_BYTES, killSignal: "SIGKILL", encoding: "utf8" } as const;
  const ended = Promise.withResolvers<{ readonly error: unknown; readonly stdout: string; readonly stderr: string }>();
  const child = execFile(program, args, options, (error, stdout, stderr) => ended.resolve({ error, stdout, stderr }));
  const kill = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  try {
    const closed = child.pid === undefined ? undefined : once(child, "close");
    const { error, stdout, stderr } = await ended.promise;
    await closed;
    signal.throwIfAborted();
    if (error === null && DIGEST.test(stdout)) return stdout.trim();
    throw failure(error, stderr);
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

function failure(error: unknown, stderr: string): Error {
  // What the registry has said is for who runs the platform, in the log: the package's error is read by a tenant.
  const cause = new Error(`the image tool failed: ${JSON.stringify(stderr.slice(0, 1024))}`, { cause: error });
  const refused = error instanceof Error && "code" in error && error.code === REFUSED;
  if (!refused) return cause;
  return new UnbuildableError("the registry refused the image: ask who runs the platform", { cause });
}
