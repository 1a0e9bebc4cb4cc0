import { type AST, RegExpParser, visitRegExpAST } from "@eslint-community/regexpp";

const parser = new RegExpParser({ ecmaVersion: 2025 });

export interface Expression {
  readonly pattern: string;
  readonly flags: string;
}

/** The engine would not come to an end with this text. */
export class TooManySteps extends Error {}

type Next = (at: number) => boolean;

/**
 * How many steps a backtracking engine takes to find all matches of an expression in a text, counted and not timed,
 * because a clock would measure the machine. A step is one test of a character, or one choice.
 */
export function stepsOf({ pattern, flags }: Expression, text: string, most: number): number {
  const tree = parser.parsePattern(pattern, 0, pattern.length, { unicode: flags.includes("u") });
  const engine = new Engine(text, flags, most);
  for (let from = 0; from <= text.length; ) {
    let end = -1;
    engine.choose(tree.alternatives, from, (at) => {
      end = at;
      return true;
    });
    if (end >= 0 && !flags.includes("g")) break;
    from = Math.max(from + 1, end);
  }
  return engine.steps;
}

class Engine {
  steps = 0;
  readonly #text: string;
  readonly #flags: string;
  readonly #most: number;
  readonly #tests = new Map<string, Map<string, boolean>>();

  constructor(text: string, flags: string, most: number) {
    this.#text = text;
    this.#flags = flags.replaceAll(/[gymd]/g, "");
    this.#most = most;
  }

  choose(alternatives: readonly AST.Alternative[], at: number, next: Next): boolean {
    return alternatives.some(({ elements }) => this.#sequence(elements, 0, at, next));
  }

  #step(): void {
    this.steps += 1;
    if (this.steps > this.#most) throw new TooManySteps();
  }

  #sequence(elements: readonly AST.Element[], index: number, at: number, next: Next): boolean {
    const element = elements[index];
    if (element === undefined) return next(at);
    return this.#element(element, at, (end) => this.#sequence(elements, index + 1, end, next));
  }

  #element(node: AST.Element, at: number, next: Next): boolean {
    this.#step();
    switch (node.type) {
      case "Group":
      case "CapturingGroup":
        return this.choose(node.alternatives, at, next);
      case "Quantifier":
        return isCharacter(node.element) ? this.#run(node, at, next) : this.#loop(node, 0, at, next);
      case "Assertion":
        return this.#holds(node, at) && next(at);
      case "Backreference":
        throw new Error("no expression of ours has one");
      default:
        return this.#fits(node, at) && next(at + 1);
    }
  }

  /** For repetitions of single characters: a loop, because recursion would overflow the stack on a long text. */
  #run({ min, max, greedy, element }: AST.Quantifier, at: number, next: Next): boolean {
    let length = 0;
    const isMore = (): boolean => length < max && this.#fits(element, at + length);
    while ((greedy || length < min) && isMore()) length += 1;
    if (length < min) return false;
    while (greedy && length >= min) {
      if (next(at + length)) return true;
      length -= 1;
    }
    while (!greedy) {
      if (next(at + length)) return true;
      if (!isMore()) return false;
      length += 1;
    }
    return false;
  }

  #loop(node: AST.Quantifier, done: number, at: number, next: Next): boolean {
    const again = (): boolean =>
      done < node.max &&
      this.#element(node.element, at, (end) => (end > at || done < node.min) && this.#loop(node, done + 1, end, next));
    if (done < node.min) return again();
    return node.greedy ? again() || next(at) : next(at) || again();
  }

  #holds(node: AST.Assertion, at: number): boolean {
    switch (node.kind) {
      case "start":
        return at === 0;
      case "end":
        return at === this.#text.length;
      case "word":
        return (this.#isWord(at - 1) !== this.#isWord(at)) !== node.negate;
      case "lookahead":
        return this.choose(node.alternatives, at, () => true) !== node.negate;
      case "lookbehind":
        // Our lookbehinds test one character.
        return (at > 0 && this.choose(node.alternatives, at - 1, (end) => end === at)) !== node.negate;
    }
  }

  #isWord(at: number): boolean {
    return /\w/.test(this.#text[at] ?? "");
  }

  #fits(node: AST.Node, at: number): boolean {
    this.#step();
    const character = this.#text[at];
    if (character === undefined) return false;
    const known = this.#tests.get(node.raw) ?? new Map<string, boolean>();
    this.#tests.set(node.raw, known);
    const answer = known.get(character) ?? new RegExp(`^${node.raw}$`, this.#flags).test(character);
    known.set(character, answer);
    return answer;
  }
}

function isCharacter({ type }: AST.Node): boolean {
  return type === "Character" || type === "CharacterSet" || type === "CharacterClass";
}

/** Characters to try for a class, in order. A minus ends a word and begins the next; a letter does not. */
const ORDERS = ["a0-_. ", "-.a0", ".-0a", " \n\t-a", "\"'a", "=:/a", "@:/a", "A9_", "\\%~+"];

/**
 * Texts that an expression begins to match many times, and never matches: each beginning of a match, repeated; and the
 * beginning once, followed by what a repetition repeats.
 */
export function hostileTexts({ pattern, flags }: Expression, length: number): Set<string> {
  const tree = parser.parsePattern(pattern, 0, pattern.length, { unicode: flags.includes("u") });
  const texts = new Set<string>();
  const add = (once: string, repeated: string): void => {
    const text = once + repeated.repeat(Math.ceil(length / Math.max(1, repeated.length))).slice(0, length);
    texts.add(text).add(`${text}\u0001`);
  };
  for (const order of ORDERS) {
    const sampler = new Sampler(order, flags.replaceAll(/[gymd]/g, ""));
    for (const { elements } of tree.alternatives) {
      const whole = elements.map((element) => sampler.of(element, ""));
      const text = whole.join("");
      for (let end = 1; end <= text.length; end += 1) add("", text.slice(0, end));
      for (const { before, inner } of sampler.repetitions) {
        add(before, inner);
        add(text.slice(0, text.lastIndexOf(inner)), inner);
      }
    }
  }
  return texts;
}

class Sampler {
  readonly repetitions: { readonly before: string; readonly inner: string }[] = [];
  readonly #order: string;
  readonly #flags: string;

  constructor(order: string, flags: string) {
    this.#order = order;
    this.#flags = flags;
  }

  of(node: AST.Element, before: string): string {
    switch (node.type) {
      case "Group":
      case "CapturingGroup": {
        const all = node.alternatives.map(({ elements }) =>
          elements.reduce((text, element) => text + this.of(element, before + text), ""),
        );
        return all[this.#order.length % all.length] ?? "";
      }
      case "Quantifier": {
        const inner = this.of(node.element, before);
        this.repetitions.push({ before, inner });
        return inner.repeat(Math.min(64, Math.max(1, node.min)));
      }
      case "Assertion":
      case "Backreference":
        return "";
      default:
        return this.#character(node.raw);
    }
  }

  #character(raw: string): string {
    const test = new RegExp(`^${raw}$`, this.#flags);
    const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
    return [...this.#order, ...ascii].find((each) => test.test(each)) ?? "";
  }
}

/** Whether it repeats a group. This engine reads groups by recursion, which overflows the stack on a long text. */
export function repeatsGroups({ pattern, flags }: Expression): boolean {
  let found = false;
  visitRegExpAST(parser.parsePattern(pattern, 0, pattern.length, { unicode: flags.includes("u") }), {
    onQuantifierEnter: ({ max, element }) => {
      found ||= max > 16 && !isCharacter(element);
    },
  });
  return found;
}

/** Whether its time depends on the text's length: without long repetitions it has a bound. */
export function repeats({ pattern, flags }: Expression): boolean {
  let found = false;
  visitRegExpAST(parser.parsePattern(pattern, 0, pattern.length, { unicode: flags.includes("u") }), {
    onQuantifierEnter: ({ max }) => {
      found ||= max > 16;
    },
  });
  return found;
}
