import { type AST, RegExpParser } from "@eslint-community/regexpp";
import { RE2JS } from "re2js";

/** The contract's limit for `validation.pattern`. */
const MAX_LENGTH = 512;
/** States of the automaton with counted repetitions written out: the highest cost of one character of text. */
const MAX_STATES = 1000;
/**
 * Limit for all patterns of one request, in states times characters. Measured: about 20 ns a step, 40 ms for all, in a
 * process that has run such patterns before; 140 to 310 ms in the first request of a process on two shared cores.
 */
const MAX_STEPS = 2_000_000;
/** Compiling an automaton costs about as much, for each state, as this many steps. */
const STEPS_TO_COMPILE = 100;

const MAX_STATES_TOGETHER = MAX_STEPS / STEPS_TO_COMPILE;

const parser = new RegExpParser({ ecmaVersion: 2025 });

/**
 * Checks the patterns that vendors supply, and texts against them, for one request. A pattern has the meaning that
 * ECMAScript gives it with the `u` flag, but RE2 runs it: the time grows only with the length of the text. Each check
 * costs steps, and a request has a limited number of them.
 */
export class PatternJudge {
  readonly #automata = new Map<string, Automaton | Fault>();
  #stepsLeft = MAX_STEPS;

  /** Why the platform refuses a pattern, in words; undefined when it accepts it. */
  fault(source: string): string | undefined {
    const automaton = this.#automaton(source);
    return "fault" in automaton ? automaton.fault : undefined;
  }

  /** What is wrong with the text, in words; undefined when it matches. */
  problem(source: string, text: string): string | undefined {
    const automaton = this.#automaton(source);
    if ("fault" in automaton) return `cannot be judged: its pattern ${automaton.fault}`;
    this.#stepsLeft -= automaton.states * text.length;
    if (this.#stepsLeft < 0) return "is too long to be judged by its pattern, with what is judged beside it";
    // Not `test`: it builds states while it reads, which costs up to a hundred times as much a step.
    return automaton.re2.matcher(text).find() ? undefined : `must match ${source}`;
  }

  #automaton(source: string): Automaton | Fault {
    const known = this.#automata.get(source);
    if (known !== undefined) return known;
    const automaton = this.#compile(source);
    this.#automata.set(source, automaton);
    return automaton;
  }

  #compile(source: string): Automaton | Fault {
    if (source.length > MAX_LENGTH) return { fault: `is longer than ${MAX_LENGTH} characters` };
    try {
      const { text, states } = translated(source);
      if (states > MAX_STATES) return { fault: `has ${states} positions with its repetitions, at most ${MAX_STATES}` };
      this.#stepsLeft -= STEPS_TO_COMPILE * states;
      if (this.#stepsLeft < 0) return { fault: `has, with those before, over ${MAX_STATES_TOGETHER} positions` };
      return { re2: RE2JS.compile(text), states };
    } catch (error) {
      return { fault: error instanceof Unsupported ? error.message : `does not compile: ${reasonOf(error)}` };
    }
  }
}

interface Automaton {
  readonly re2: RE2JS;
  readonly states: number;
}

interface Fault {
  readonly fault: string;
}

/** A pattern, or a part of one, in RE2's syntax. */
interface Part {
  readonly text: string;
  readonly states: number;
}

/** @throws Unsupported; SyntaxError for a text that is no regular expression. */
function translated(source: string): Part {
  const { text, states } = alternatives(parser.parsePattern(source, 0, source.length, { unicode: true }).alternatives);
  return { text, states: Math.max(1, states) };
}

class Unsupported extends Error {
  constructor(what: string) {
    super(`has ${what}, which RE2 lacks: lookaround, backreferences and inline flags have no part in a pattern`);
  }
}

/** The reason in a parser's error, without the pattern, which the parser puts before it. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message
    .slice(message.lastIndexOf("/u: ") + 1)
    .replace(/^u: /, "")
    .slice(0, 128);
}

function alternatives(all: readonly AST.Alternative[]): Part {
  const parts = all.map(({ elements }) => sequence(elements.map(element)));
  return { text: parts.map(({ text }) => text).join("|"), states: total(parts) + parts.length - 1 };
}

function sequence(parts: readonly Part[]): Part {
  return { text: parts.map(({ text }) => text).join(""), states: total(parts) };
}

function total(parts: readonly Part[]): number {
  return parts.reduce((sum, { states }) => sum + states, 0);
}

function element(node: AST.Element): Part {
  switch (node.type) {
    case "Group":
      if (node.modifiers !== null) throw new Unsupported("flags inside");
      return grouped(alternatives(node.alternatives));
    case "CapturingGroup":
      return grouped(alternatives(node.alternatives));
    case "Quantifier":
      return repeated(node);
    case "Assertion":
      return assertion(node);
    case "Character":
    case "CharacterSet":
      return { text: charactersOf(node), states: 1 };
    case "CharacterClass":
      return { text: classOf(node), states: 1 };
    case "Backreference":
      throw new Unsupported("a backreference");
    default:
      throw new Unsupported("an element of another flag");
  }
}

function grouped({ text, states }: Part): Part {
  return { text: `(?:${text})`, states };
}

/** Ignores whether the quantifier is lazy: that does not change whether a match exists. */
function repeated({ min, max, element: inner }: AST.Quantifier): Part {
  const { text, states } = grouped(element(inner));
  if (max === Number.POSITIVE_INFINITY) return { text: `${text}{${min},}`, states: states * Math.max(1, min) + 1 };
  return { text: `${text}{${min},${max}}`, states: states * max + max - min };
}

function assertion(node: AST.Assertion): Part {
  if (node.kind === "start") return { text: "^", states: 1 };
  if (node.kind === "end") return { text: "$", states: 1 };
  if (node.kind === "word") return { text: node.negate ? "\\B" : "\\b", states: 1 };
  throw new Unsupported(`a ${node.kind}`);
}

function classOf({ negate, elements }: AST.CharacterClass): string {
  if (elements.length === 0) return negate ? EVERYTHING : NOTHING;
  return `[${negate ? "^" : ""}${elements.map(insideClass).join("")}]`;
}

function insideClass(node: AST.CharacterClass["elements"][number]): string {
  switch (node.type) {
    case "Character":
      return point(node.value);
    case "CharacterClassRange":
      return `${point(node.min.value)}-${point(node.max.value)}`;
    case "CharacterSet":
      return setInsideClass(node);
    default:
      throw new Unsupported("an element of another flag");
  }
}

const EVERYTHING = "[\\x{0}-\\x{10FFFF}]";
const NOTHING = "[^\\x{0}-\\x{10FFFF}]";
/** In RE2 `.` and `\s` match other characters than in ECMAScript. */
const LINE_ENDS = "\\x{A}\\x{D}\\x{2028}\\x{2029}";
const SPACES =
  "\\x{9}-\\x{D}\\x{20}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}\\x{FEFF}";
const NOT_SPACES =
  "\\x{0}-\\x{8}\\x{E}-\\x{1F}\\x{21}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}" +
  "\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{FEFE}\\x{FF00}-\\x{10FFFF}";

function charactersOf(node: AST.Character | AST.CharacterSet): string {
  if (node.type === "Character") return point(node.value);
  return node.kind === "any" ? `[^${LINE_ENDS}]` : `[${setInsideClass(node)}]`;
}

function setInsideClass(node: AST.CharacterSet): string {
  switch (node.kind) {
    case "digit":
      return node.negate ? "\\D" : "\\d";
    case "word":
      return node.negate ? "\\W" : "\\w";
    case "space":
      return node.negate ? NOT_SPACES : SPACES;
    case "property":
      return property(node);
    case "any":
      throw new Unsupported("a dot as a set");
  }
}

/** General categories, scripts and binary properties: RE2 has the same names for them. It refuses other properties. */
function property({ key, value, negate, raw }: AST.UnicodePropertyCharacterSet): string {
  const known = value === null || ["General_Category", "gc", "Script", "sc"].includes(key);
  if (!known) throw new Unsupported(raw);
  return `\\${negate ? "P" : "p"}{${value ?? key}}`;
}

function point(value: number): string {
  return `\\x{${value.toString(16)}}`;
}
