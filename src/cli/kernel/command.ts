/** One command: a word after `sallyport`. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The whole text of `--help`; `args` are the words before it, for commands that have commands. */
  help(args: readonly string[]): Promise<string>;
  /** @returns the exit code. @throws UsageError when the arguments are wrong. */
  run(args: readonly string[], signal: AbortSignal): Promise<number>;
}

/** Wrong arguments: printed in one line, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** An error for people: printed without a stack trace, which only a defect of the program needs. */
export class FriendlyError extends Error {
  override readonly name = "FriendlyError";
  readonly exitCode: number;

  /** @param options.exitCode default 1, failed */
  constructor(message: string, options: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options);
    this.exitCode = options.exitCode ?? 1;
  }
}
