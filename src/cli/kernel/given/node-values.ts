import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { goScalar, keyText, ScalarProblem } from "./go-scalar.ts";

/** Why a document has no value, and where. */
export class NodeProblem extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** What aliases repeat in one text: a short text could stand for a value without an end. */
export class Repeats {
  #nodes = 0;
  #characters = 0;

  add(characters: number): boolean {
    this.#nodes += 1;
    this.#characters += characters;
    return this.#nodes <= 400_000 && this.#characters <= 16 * 1024 * 1024;
  }
}

interface Found {
  readonly value: unknown;
  /** Where keys stand that their map has already; the first few. */
  readonly doubles: readonly number[];
}

const MAX_DOUBLES = 10;
const MERGE = "tag:yaml.org,2002:merge";
/** kubectl takes these for a part of the text, or for something else than they look like. */
const NOT_ALIKE = "is read in two ways: put it in quotes";
const NO_KEY = "is a key that is no text, number or boolean";

/**
 * The value of a document as kubectl reads it. Of a key that is written twice the last value counts, also where `<<` comes
 * after it. Takes time that grows with the text and what its aliases repeat.
 *
 * @param text that the document was parsed from
 * @throws NodeProblem
 */
export function valueIn(document: Document, text: string, repeats: Repeats): Found {
  const targets = new Map<Alias, Node>();
  link(document.contents, new Map(), targets);
  const values = new NodeValues(text, targets, repeats);
  return { value: values.of(document.contents), doubles: values.doubles };
}

/** What each alias stands for: the anchor of its name that was written last before it. */
function link(node: unknown, anchors: Map<string, Node>, targets: Map<Alias, Node>): void {
  if (isAlias(node)) {
    const target = anchors.get(node.source);
    if (target === undefined) throw new NodeProblem(offsetOf(node), `there is no anchor ${node.source} before it`);
    targets.set(node, target);
  } else if (isMap(node) || isSeq(node) || isScalar(node)) {
    if (node.anchor) anchors.set(node.anchor, node);
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        link(key, anchors, targets);
        link(value, anchors, targets);
      }
    } else if (isSeq(node)) for (const item of node.items) link(item, anchors, targets);
  }
}

type Entries = Map<string, unknown>;

class NodeValues {
  readonly doubles: number[] = [];
  readonly #text: string;
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #repeats: Repeats;
  /** Anchored nodes whose value is being made. */
  readonly #open = new Set<Node>();
  #aliases = 0;
  /** Within `{}` or `[]`. */
  #isFlow = false;

  constructor(text: string, targets: ReadonlyMap<Alias, Node>, repeats: Repeats) {
    this.#text = text;
    this.#targets = targets;
    this.#repeats = repeats;
  }

  of(node: unknown): unknown {
    if (isAlias(node)) return this.#inAlias(node, (target) => this.of(target));
    if (isScalar(node)) {
      const { kind, value } = this.#scalar(node);
      if (kind === "int") return Number(value);
      if (kind !== "float" || Number.isFinite(value)) return value;
      throw new NodeProblem(offsetOf(node), "is a number that JSON does not have");
    }
    if (isMap(node)) {
      this.#count(node, 0);
      return this.#within(node, () => Object.fromEntries(this.#addAll(node, new Map())));
    }
    if (!isSeq(node)) return null;
    this.#count(node, 0);
    return this.#within(node, () => node.items.map((item) => this.of(item)));
  }

  #addAll(map: YAMLMap, entries: Entries): Entries {
    const own = new Set<string>();
    for (const { key, value } of map.items) {
      if (isMerge(key)) this.#merge(value, entries);
      else {
        const name = this.#key(key);
        if (own.has(name) && this.#aliases === 0 && this.doubles.length < MAX_DOUBLES) this.doubles.push(offsetOf(key));
        own.add(name);
        entries.set(name, this.of(value));
      }
      if (isScalar(key) && this.#isAmbiguous(key)) throw new NodeProblem(offsetOf(key), NOT_ALIKE);
    }
    return entries;
  }

  /** `[a:, b]`: the colon is a part of the text for kubectl, and not for readers of YAML 1.2. */
  #isAmbiguous({ type, range }: Scalar): boolean {
    const end = range?.[1] ?? 0;
    return this.#isFlow && type === "PLAIN" && /^:[,\]}]$/.test(this.#text.slice(end, end + 2));
  }

  /** Of several maps the first wins. */
  #merge(node: unknown, entries: Entries): void {
    const maps = isSeq(node) ? node.items.toReversed() : [node];
    for (const each of maps) {
      if (isMap(each)) this.#within(each, () => this.#addAll(each, entries));
      else if (isAlias(each) && isMap(this.#targets.get(each))) {
        this.#inAlias(each, (target) => isMap(target) && this.#within(target, () => this.#addAll(target, entries)));
      } else throw new NodeProblem(offsetOf(each), "<< takes a map, or a list of maps");
    }
  }

  #key(node: unknown): string {
    const key = isAlias(node) ? this.#targets.get(node) : node;
    if (!isScalar(key)) throw new NodeProblem(offsetOf(node), NO_KEY);
    const found = this.#scalar(key);
    if (found.kind === "null") throw new NodeProblem(offsetOf(node), NO_KEY);
    return keyText(found);
  }

  #scalar(node: Scalar): ReturnType<typeof goScalar> {
    const text = String(node.value ?? "");
    this.#count(node, text.length);
    // `[?a]`, `[:a]` and `[!tag, a]`
    const isAmbiguous = this.#isFlow && node.type === "PLAIN" && (/^[?:]./.test(text) || (text === "" && node.tag));
    if (isAmbiguous) throw new NodeProblem(offsetOf(node), NOT_ALIKE);
    try {
      return goScalar(text, node.tag ?? "", node.type === "PLAIN" || node.type === undefined);
    } catch (error) {
      throw error instanceof ScalarProblem ? new NodeProblem(offsetOf(node), error.message) : error;
    }
  }

  #inAlias<T>(alias: Alias, work: (target: Node | undefined) => T): T {
    const target = this.#targets.get(alias);
    if (target !== undefined && this.#open.has(target)) {
      throw new NodeProblem(offsetOf(alias), `the anchor ${alias.source} contains itself`);
    }
    this.#aliases += 1;
    try {
      return work(target);
    } finally {
      this.#aliases -= 1;
    }
  }

  #within<T>(node: YAMLMap | YAMLSeq, work: () => T): T {
    const isFlow = this.#isFlow;
    this.#isFlow = node.flow === true;
    this.#open.add(node);
    try {
      return work();
    } finally {
      this.#open.delete(node);
      this.#isFlow = isFlow;
    }
  }

  #count(node: Node, characters: number): void {
    if (this.#aliases === 0 || this.#repeats.add(characters)) return;
    throw new NodeProblem(offsetOf(node), "its aliases repeat more than a file may hold");
  }
}

function isMerge(key: unknown): boolean {
  if (!isScalar(key) || key.value !== "<<") return false;
  return key.tag === MERGE || (key.tag === undefined && key.type === "PLAIN");
}

function offsetOf(node: unknown): number {
  return (isAlias(node) || isMap(node) || isSeq(node) || isScalar(node) ? node.range?.[0] : undefined) ?? 0;
}
