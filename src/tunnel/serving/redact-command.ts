import { redactText } from "../../crds/redact.ts";

const NAME = String.raw`--?[\w.-]{0,64}(?:passw(?:or)?d|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[\w.-]{0,64}`;
/** A flag that is one word of the command; its value is the next word. */
const FLAG = new RegExp(`^${NAME}$`, "i");
/** A flag and its value within a word, as in `sh -c "psql --password hunter2"`. */
const FLAG_AND_VALUE = new RegExp(`(?<![\\w.-])(${NAME}[ \\t]{1,8})[^\\s;|&]{1,8192}`, "gi");
const MARK = "[redacted]";

/** The words of a command for the audit, without what looks like a secret: also where a flag and its value are two words. */
export function redactCommand(words: readonly string[]): readonly string[] {
  return words.map((word, at) => {
    const before = words[at - 1] ?? "";
    if (FLAG.test(before) && !word.startsWith("-")) return MARK;
    return redactText(word, () => undefined).replace(FLAG_AND_VALUE, `$1${MARK}`);
  });
}
