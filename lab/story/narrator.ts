import { styleText } from "node:util";
import type { Clock } from "../../src/base/clock.ts";
import { wrap } from "../../src/cli/kernel/settings.ts";

/** Who acts in a step; the words of the product. */
export type Actor = "engineer" | "platform" | "agent" | "approver" | "operator" | "cluster";

export interface Told<T> {
  /** What happened, in one line, past or present tense. */
  readonly text: string;
  readonly value: T;
}

/** A step in which the product did not do what it promises. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
}

export interface Output {
  write(text: string): void;
  /** A terminal: with colours, and a line that is overwritten while a step runs. */
  readonly isTerminal: boolean;
}

/** A step that takes longer than this prints that it is still running. */
const SLOW_MS = 1_000;
const AGAIN_MS = 10_000;

const COLOURS: Readonly<Record<Actor, "cyan" | "magenta" | "blue" | "green" | "yellow" | "gray">> = {
  engineer: "cyan",
  platform: "magenta",
  agent: "blue",
  approver: "green",
  operator: "yellow",
  cluster: "gray",
};

/** Prints what happens: one line for each step, with the time of day and the time it took. */
export class Narrator {
  readonly #output: Output;
  readonly #clock: Clock;
  #liveLine = false;
  #afterBlank = false;

  constructor(output: Output, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
  }

  blank(): void {
    this.#line("");
  }

  heading(text: string): void {
    this.#line("");
    this.#line(this.#style("bold", `  ${text}`));
    this.#line("");
  }

  /** Prints text as it is, indented: for lines that people copy. */
  text(text: string): void {
    for (const line of text.split("\n")) this.#line(line === "" ? "" : `  ${line}`);
  }

  /** Prints the progress of a long step. */
  progress(text: string): void {
    this.#line(this.#style("dim", `  ${text}`));
  }

  /** Prints a line to type. */
  command(text: string): void {
    this.#line("");
    this.#line(`      ${this.#style("bold", text)}`);
    this.#line("");
  }

  /** Runs the step, then prints its result. Prints a failure too, and throws it on. */
  async step<T>(actor: Actor, doing: string, act: () => Promise<Told<T>>): Promise<T> {
    const startedAt = this.#clock.monotonicMs();
    const elapsed = () => this.#clock.monotonicMs() - startedAt;
    const stillAtIt = (): void => {
      this.#live(`${this.#prefix(actor, elapsed())}${this.#style("dim", `${doing} …`)}`);
      cancel = this.#clock.after(this.#output.isTerminal ? SLOW_MS : AGAIN_MS, stillAtIt);
    };
    // A log has no line that can be overwritten, so it gets slow steps later and less often.
    let cancel = this.#clock.after(this.#output.isTerminal ? SLOW_MS : AGAIN_MS, stillAtIt);
    try {
      const { text, value } = await act();
      cancel();
      this.#say(actor, elapsed(), text);
      return value;
    } catch (error) {
      cancel();
      if (error instanceof StepFailed)
        this.#say(actor, elapsed(), this.#style("red", `FAILED: ${doing}. ${error.message}`));
      throw error;
    }
  }

  #say(actor: Actor, elapsedMs: number, text: string): void {
    const [first = "", ...rest] = wrap(text, 92);
    this.#line(`${this.#prefix(actor, elapsedMs)}${first}`);
    for (const line of rest) this.#line(`${" ".repeat(32)}${line}`);
  }

  #prefix(actor: Actor, elapsedMs: number): string {
    const time = this.#clock.wallNow().toTimeString().slice(0, 8);
    const took = `${(elapsedMs / 1000).toFixed(elapsedMs < 10_000 ? 2 : 1)} s`.padStart(8);
    return `  ${this.#style("dim", `${time} ${took}`)}  ${this.#style(COLOURS[actor], actor.padEnd(8))}   `;
  }

  /** On a terminal the next line replaces it. */
  #live(line: string): void {
    if (this.#output.isTerminal) this.#output.write(`\r\u001b[2K${line}`);
    else this.#line(line);
    this.#liveLine = this.#output.isTerminal;
  }

  /** Never prints two empty lines in a row. */
  #line(text: string): void {
    if (text === "" && this.#afterBlank) return;
    this.#afterBlank = text === "";
    this.#output.write(`${this.#liveLine ? "\r\u001b[2K" : ""}${text}\n`);
    this.#liveLine = false;
  }

  #style(style: Parameters<typeof styleText>[0], text: string): string {
    return this.#output.isTerminal ? styleText(style, text, { validateStream: false }) : text;
  }
}
