import { answer, type CommandOptions } from "./command.ts";

/** This machine lacks something that our code cannot add. The message says what, and how to get it. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** A Docker daemon, and how this process and its containers reach each other. */
export interface Docker {
  readonly description: string;
  /** Environment variables for docker and kind. */
  readonly env: Readonly<Record<string, string>>;
  /** Where the API server's port is published, reachable from this process; without a port, kind looks for a free one. */
  readonly publishedAt: { readonly address: string; readonly port?: number };
  /** The address of this process for containers; undefined: the gateway of their network. */
  readonly hostAddress?: string;
  run(args: readonly string[], options: CommandOptions, signal: AbortSignal): Promise<string>;
  /** Ends the daemon when it is ours. */
  stop(): Promise<void>;
}

/** Of the daemon; undefined when none answers. */
export async function serverVersion(
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { code, stdout } = await answer(
      "docker",
      ["version", "--format", "{{.Server.Version}}"],
      { env, timeoutMs: 20_000 },
      signal,
    );
    return code === 0 ? stdout.trim() : undefined;
  } catch {
    signal.throwIfAborted();
    return undefined; // There is no docker program.
  }
}
