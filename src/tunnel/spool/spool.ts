import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { TunnelMetrics } from "../kernel/metrics.ts";

export interface SpoolOptions {
  readonly folder: string;
  readonly limitBytes: number;
  readonly metrics: Pick<TunnelMetrics, "spooled">;
}

/** Nothing that has been uploaded is left to remove. */
class SpoolFull extends Error {
  override readonly name = "SpoolFull";
}

/** A file that is no longer needed has this behind its name, also after a restart. */
const DONE = ".done";

/** The folder of audit files and recordings, with a bound. What is done is removed, oldest first, when room is needed. */
export class Spool {
  readonly #options: SpoolOptions;
  #bytes = 0;

  /** @throws Error when the folder cannot be made or read: a tunnel that cannot keep records must not start. */
  constructor(options: SpoolOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    this.#count(this.names().reduce((sum, name) => sum + this.size(name), 0));
  }

  get bytes(): number {
    return this.#bytes;
  }

  path(name: string): string {
    return join(this.#options.folder, name);
  }

  /** Of all files, in no order. */
  names(): readonly string[] {
    return readdirSync(this.#options.folder);
  }

  /** What was not uploaded yet. */
  waiting(): readonly string[] {
    return this.names().filter((name) => !name.endsWith(DONE));
  }

  size(name: string): number {
    return statSync(this.path(name), { throwIfNoEntry: false })?.size ?? 0;
  }

  /** To be called before so many bytes are written. @throws SpoolFull */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#options.limitBytes) this.#makeRoom(bytes);
    if (this.#bytes + bytes > this.#options.limitBytes) throw new SpoolFull("the spool is full");
    this.#count(bytes);
  }

  /** The file was cut by so many bytes. */
  giveBack(bytes: number): void {
    this.#count(-bytes);
  }

  /** It may go when room is needed. */
  done(name: string): void {
    try {
      // A session that comes back to this process has a second file of the same name.
      const earlier = this.names().filter((each) => each.startsWith(`${name}.`)).length;
      renameSync(this.path(name), this.path(`${name}${earlier === 0 ? "" : `.${earlier}`}${DONE}`));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }

  #makeRoom(bytes: number): void {
    const done = this.names().filter((name) => name.endsWith(DONE));
    const aged = done.map((name) => ({ name, at: statSync(this.path(name)).mtimeMs })).sort((a, b) => a.at - b.at);
    for (const { name } of aged) {
      if (this.#bytes + bytes <= this.#options.limitBytes) return;
      const size = this.size(name);
      rmSync(this.path(name), { force: true });
      this.#count(-size);
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#options.metrics.spooled(this.#bytes);
  }
}
