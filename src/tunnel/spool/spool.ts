import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { TunnelMetrics } from "../kernel/metrics.ts";
import { type SpoolFiles, SpoolShare } from "./spool-share.ts";

export interface SpoolOptions {
  readonly folder: string;
  readonly limitBytes: number;
  readonly metrics: Pick<TunnelMetrics, "spooled" | "setAside">;
}

/** Nothing that has been uploaded is left to remove. */
class SpoolFull extends Error {
  override readonly name = "SpoolFull";
}

/** A file that is no longer needed has this behind its name, also after a restart. */
const DONE = ".done";
/** One that was changed behind the tunnel's back: it is neither sent nor removed, and a person must look at it. */
const ASIDE = ".aside";

/**
 * The folder of audit files and recordings, with a bound. What is done is removed, oldest first, when room is needed. Each
 * session that is served has a share that no other can fill.
 */
export class Spool implements SpoolFiles {
  readonly #options: SpoolOptions;
  readonly #shares = new Set<SpoolShare>();
  #bytes = 0;

  /** @throws Error when the folder cannot be made or read: a tunnel that cannot keep records must not start. */
  constructor(options: SpoolOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    this.#count(this.#sizeOf(this.names()));
    this.#countAside();
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
    return this.names().filter((name) => !(name.endsWith(DONE) || name.endsWith(ASIDE)));
  }

  /** Whether a share of so many bytes fits beside those that others have. @param names files that are a part of it. */
  hasRoom(bytes: number, names: readonly string[] = []): boolean {
    const kept = this.#sizeOf(this.names().filter((name) => !name.endsWith(DONE)));
    const promised = [...this.#shares].reduce((sum, { left }) => sum + left, 0);
    return kept + promised + bytes - this.#sizeOf(names) <= this.#options.limitBytes;
  }

  /** Until it is given up nothing else takes these bytes. @param names files that are a part of it, and may be there. */
  share(bytes: number, names: readonly string[]): SpoolShare {
    const share = new SpoolShare(this, { limitBytes: bytes, usedBytes: this.#sizeOf(names) }, () =>
      this.#shares.delete(share),
    );
    this.#shares.add(share);
    return share;
  }

  size(name: string): number {
    return statSync(this.path(name), { throwIfNoEntry: false })?.size ?? 0;
  }

  /** @throws SpoolFull */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#options.limitBytes) this.#makeRoom(bytes);
    if (this.#bytes + bytes > this.#options.limitBytes) throw new SpoolFull("the spool is full");
    this.#count(bytes);
  }

  giveBack(bytes: number): void {
    this.#count(-bytes);
  }

  done(name: string): void {
    this.#rename(name, DONE);
  }

  setAside(name: string): void {
    this.#rename(name, ASIDE);
    this.#countAside();
  }

  #rename(name: string, ending: string): void {
    try {
      // A session that comes back to this process has a second file of the same name.
      const earlier = this.names().filter((each) => each.startsWith(`${name}.`)).length;
      renameSync(this.path(name), this.path(`${name}${earlier === 0 ? "" : `.${earlier}`}${ending}`));
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

  #sizeOf(names: readonly string[]): number {
    return names.reduce((sum, name) => sum + this.size(name), 0);
  }

  #countAside(): void {
    this.#options.metrics.setAside(this.names().filter((name) => name.endsWith(ASIDE)).length);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#options.metrics.spooled(this.#bytes);
  }
}
