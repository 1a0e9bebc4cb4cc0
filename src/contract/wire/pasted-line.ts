// Lines that a person pastes into a shell. Their fixed text is ours; what varies comes from a manager, a builder or a
// project, and would otherwise be an option, a second command or an expansion in the shell of the person who trusts us.

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

/** No shell gives these characters a meaning, and a word that starts so is never an option. */
const WORD = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/;

/** The line with which a customer approves, as the platform makes it; a client that shows another line shows a trap. */
export const APPROVE_LINE: string = `^kubectl patch ${RESOURCE_PLURAL.slice(1, -1)} ar-[0-9a-z]{28} -n ${LABEL} --type=merge -p '\\{"spec":\\{"approvedForMinutes":[0-9]{1,5}(,"approvedPlanHash":"sha256:[0-9a-f]{64}")?\\}\\}'$`;

/** True: it may stand in a line that people paste. */
export function isTypedWord(text: string): boolean {
  return WORD.test(text);
}

/**
 * The tag of every such line: `` pastedLine`kubectl get ${plural}` ``. Undefined when one of the values is more than a
 * plain word: no line is better than a line that does something else.
 */
export function pastedLine(text: TemplateStringsArray, ...words: readonly (string | number)[]): string | undefined {
  const values = words.map(String);
  return values.every(isTypedWord) ? String.raw({ raw: text }, ...values) : undefined;
}
