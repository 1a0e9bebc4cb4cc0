import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { eventually } from "../../world/wait.ts";

/** A child whose two outputs are kept. */
export class Typed {
  out = "";
  error = "";
  code: number | null | undefined;
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<number | null>;

  constructor(path: string, args: readonly string[], env: Readonly<Record<string, string | undefined>>) {
    this.child = spawn(path, args, { env });
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.out += text;
    });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.error += text;
    });
    this.child.stdin.on("error", () => undefined); // It may end before it has read everything.
    this.ended = once(this.child, "close").then(([code]) => {
      this.code = code;
      return code;
    });
  }

  /** Waits for words on either output. */
  async says(words: RegExp, limitMs?: number): Promise<RegExpExecArray> {
    const read = () => Promise.resolve(words.exec(this.out) ?? words.exec(this.error) ?? undefined);
    return eventually(
      async () => {
        const found = await read();
        if (found === undefined && this.code !== undefined)
          throw new Error(`ended with ${this.code} before it said ${words}:\n${this.out}\n${this.error}`);
        return found;
      },
      () => true,
      limitMs,
    ).catch((error: unknown) => {
      throw new Error(`${words} was not said:\n${this.out}\n${this.error}`, { cause: error });
    });
  }
}
