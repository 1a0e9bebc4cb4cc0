// Lines that a person pastes into a shell. The fixed text is the platform's. The rest comes from a manager, a builder
// or a project; unchecked, it could be an option, a second command or an expansion in that person's shell.

/** One DNS label. */
const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
/** What Kubernetes calls a namespace. */
export const NAMESPACE: string = `^${LABEL}$`;
/** A kind as kubectl takes it: `<plural>.<group>`, or the plural alone. */
export const RESOURCE_PLURAL: string = String.raw`^${LABEL}(\.${LABEL})*$`;
/** A command, a chart or another thing that a project names and people type. */
export const TYPED_NAME = "^[A-Za-z0-9][A-Za-z0-9._-]*$";
/** An address without user, query, fragment or anything else that a shell reads. */
export const TYPED_URL = String.raw`^https?://([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._/-]*)?$`;

/**
 * Characters without a meaning for any shell. The first one is a letter or digit, so that the word is never an option.
 */
const WORD = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/;

/**
 * The line with which a customer approves, as the platform writes it. A client shows no other line, which could be an
 * attack.
 */
export const APPROVE_LINE: string = `^kubectl patch ${RESOURCE_PLURAL.slice(1, -1)} ar-[0-9a-z]{28} -n ${LABEL} --type=merge -p '\\{"spec":\\{"approvedForMinutes":[0-9]{1,5}(,"approvedPlanHash":"sha256:[0-9a-f]{64}")?\\}\\}'$`;

/** True: it may stand in a line that people paste. */
export function isTypedWord(text: string): boolean {
  return WORD.test(text);
}

/**
 * Tag of every such line: `` pastedLine`kubectl get ${plural}` ``. Undefined when a value is not a plain word: then the
 * platform shows no line.
 */
export function pastedLine(text: TemplateStringsArray, ...words: readonly (string | number)[]): string | undefined {
  const values = words.map(String);
  return values.every(isTypedWord) ? String.raw({ raw: text }, ...values) : undefined;
}
