import { ReceiptDocument } from "../../contract/access-requests/receipts.ts";
import { misfit } from "../../contract/wire/misfit.ts";
import { canonicalDigest } from "../../crds/canonical-digest.ts";
import type { DigestedReceipt } from "../../crds/receipt.ts";
import { UsageError } from "../kernel/command.ts";

/** One document and where it was found, as `FILE` or `FILE:LINE`. */
export interface Found {
  readonly where: string;
  readonly value: unknown;
}

/** The receipts of one deployment, as far as they are there. */
export interface CheckedChain {
  readonly deploymentId: string;
  readonly from: number;
  readonly to: number;
  /** The digest of the last one: compared with the other side's, it vouches for all. */
  readonly head: string;
}

export interface ReceiptsVerdict {
  readonly holds: boolean;
  readonly problems: readonly string[];
  readonly chains: readonly CheckedChain[];
}

interface Told extends DigestedReceipt {
  readonly where: string;
}

/** Beyond it, more of the same helps no reader and takes a large file minutes. */
const MAX_PROBLEMS = 1_000;

/** Of all files together: as many as fit, at their usual size, into the bytes that these may have. */
export const MAX_DOCUMENTS = 500_000;

/** How `-o yaml` begins. It is for reading: its lines are no receipts, and would look as if each was tampered with. */
const YAML = /^\s*(---|(- )?(digest|receipt):)/;

/**
 * A document, a list of documents, or one on each line; not many more than {@link MAX_DOCUMENTS} at most.
 *
 * @throws UsageError for YAML
 */
export function documentsIn(text: string, name: string): readonly Found[] {
  const whole = parsed(text);
  if (Array.isArray(whole)) {
    return whole.slice(0, MAX_DOCUMENTS + 1).map((value, index) => ({ where: `${name}:${index + 1}`, value }));
  }
  if (whole !== undefined) return [{ where: name, value: whole }];
  if (YAML.test(text)) {
    throw new UsageError(
      `${name} is YAML, which is for reading: verify what receipt prints without -o, or with -o json`,
    );
  }
  const found: Found[] = [];
  let unread = 0;
  for (const [index, line] of text.split("\n", MAX_DOCUMENTS + 1).entries()) {
    // Of lines beyond the most none goes unseen, also when those before it are empty.
    if (line.trim() === "" && index < MAX_DOCUMENTS) continue;
    // Files that were put together have the mark of each.
    const value = parsed(line.replace(/^\uFEFF/, ""));
    found.push({ where: `${name}:${index + 1}`, value });
    if (value === undefined) unread += 1;
    if (unread > MAX_PROBLEMS) break;
  }
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * What is wrong with these receipts, by themselves: changed, left out, twice or in another order than they were made in. Pure.
 *
 * @param head the digest of the last one, from the cluster or the platform: files alone cannot show that their end is missing
 */
export function verdictOn(found: readonly Found[], head?: string): ReceiptsVerdict {
  const problems: string[] = [];
  const told: Told[] = [];
  for (const { where, value } of found) {
    if (problems.length >= MAX_PROBLEMS) {
      problems.push(`what comes after ${MAX_PROBLEMS} wrong ones, from ${where} on, was not looked at`);
      break;
    }
    const problem = misfit(ReceiptDocument, value, ["digest", "receipt"]);
    if (problem !== undefined) {
      problems.push(`${where} is no receipt: ${problem}`);
      continue;
    }
    const document: Told = { ...(value as DigestedReceipt), where };
    if (digestOf(document) !== document.digest) problems.push(`${named(document)} was changed: it has another digest`);
    told.push(document);
  }
  const chains = [...Map.groupBy(told, ({ receipt }) => receipt.deploymentId)].map(([deploymentId, all]) => {
    problems.push(...chainProblems(all));
    const inOrder = bySequence(all);
    const [first, last] = [inOrder[0], inOrder.at(-1)];
    return {
      deploymentId,
      from: first?.receipt.sequence ?? 0,
      to: last?.receipt.sequence ?? 0,
      head: last?.digest ?? "",
    };
  });
  // Of each deployment: a first receipt that was put into another one would else leave both chains whole.
  if (head !== undefined && !(chains.length > 0 && chains.every((chain) => chain.head === head))) {
    problems.push(`no last receipt here has the digest ${head}: receipts are left out at the end, or were changed`);
  }
  if (found.length === 0) problems.push("there is no receipt in it");
  return { holds: problems.length === 0, problems, chains };
}

function digestOf({ receipt }: Told): string | undefined {
  try {
    return canonicalDigest(receipt);
  } catch {
    // Text that JSON cannot carry unharmed, or nested without end.
    return undefined;
  }
}

/** Receipts of one deployment, in the order in which they were found. */
function chainProblems(all: readonly Told[]): readonly string[] {
  const problems: string[] = [];
  for (const [index, document] of all.entries()) {
    const before = all[index - 1];
    if (before !== undefined && before.receipt.sequence > document.receipt.sequence) {
      problems.push(`${named(document)} stands after number ${before.receipt.sequence}: the order was changed`);
    }
  }
  const inOrder = bySequence(all);
  for (const [index, document] of inOrder.entries()) {
    const before = inOrder[index - 1];
    const problem = before === undefined ? beginProblem(document) : linkProblem(before, document);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

function beginProblem(first: Told): string | undefined {
  const { sequence, previous } = first.receipt;
  return (sequence === 1) === (previous === null)
    ? undefined
    : `${named(first)} was changed: number 1, and no other one, has nothing before it`;
}

function linkProblem(before: Told, document: Told): string | undefined {
  const [last, { sequence, previous }] = [before.receipt.sequence, document.receipt];
  if (sequence === last) {
    return before.digest === document.digest
      ? `${named(document)} is there twice`
      : `${named(document)} and ${before.where} have the same number and are two: one of them was put in place of the other`;
  }
  if (sequence > last + 1) {
    const missing = sequence === last + 2 ? `number ${last + 1} is` : `numbers ${last + 1} to ${sequence - 1} are`;
    return `${missing} left out before ${named(document)}`;
  }
  return previous === before.digest
    ? undefined
    : `${named(before)} was changed: ${named(document)} was written after one with the digest ${previous}`;
}

function bySequence(all: readonly Told[]): readonly Told[] {
  return all.toSorted((one, other) => one.receipt.sequence - other.receipt.sequence);
}

function named({ where, receipt }: Told): string {
  return `number ${receipt.sequence} (${receipt.request.id}, ${where})`;
}

/** Lines for people. */
export function verdictLines({ holds, problems, chains }: ReceiptsVerdict): readonly string[] {
  return [
    ...chains.flatMap(({ deploymentId, from, to, head }) => [
      `${deploymentId}: receipts ${from} to ${to}; digest of the last one ${head}`,
      ...(from > 1 ? [`${deploymentId}: receipts 1 to ${from - 1} are not among these files`] : []),
    ]),
    ...problems.map((problem) => `WRONG: ${problem}`),
    holds ? "nothing was changed, left out in between or put in another order" : `${problems.length} wrong`,
  ];
}
