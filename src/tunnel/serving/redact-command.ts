const NAME = String.raw`[\w.-]{0,64}(?:passw(?:or)?d|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[\w.-]{0,64}`;
/** A flag that is one word of the command; its value is the next word. */
const FLAG = new RegExp(`^--?${NAME}$`, "i");
/** Longer text is no secret that a person types, and could be a program. */
const MOST = 256;
/** Nothing by which a shell would end a word: what comes after a value stays as it is. */
const VALUE = String.raw`[^\s;|&<>(){}$\x60"'\\@]{1,${MOST}}`;
/** The whole next word is such a value: a program in it stays as it is. */
const WORD = new RegExp(`^(?!-)${VALUE}$`);
const MARK = "[redacted]";

/** Within one word, as in `sh -c "psql --password hunter2"`. Each keeps what names the secret. */
const PATTERNS: readonly RegExp[] = [
  // A flag and its value.
  new RegExp(`((?<![\\w.-])--?${NAME}[ \\t]{1,8})${VALUE}`, "gi"),
  // password=…, "apiKey": …, DB_SECRET: …
  new RegExp(`((?<![\\w.-])["']?${NAME}["']?[ \\t]{0,8}[=:][ \\t]{0,8}["']?)(?!\\[redacted])${VALUE}`, "gi"),
  new RegExp(String.raw`(\b(?:bearer|basic|negotiate)[ \t]{1,8})(?!\[redacted])[\w.~+/=-]{8,${MOST}}`, "gi"),
  // The password of a URL's user.
  new RegExp(String.raw`(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@]{0,256}:)(?!\[redacted])${VALUE}(?=@)`, "gi"),
];

/**
 * The words of a command for the audit, without values of what is named as a secret. It takes out a value only, never a
 * space or a sign of the shell: else an engineer could hide a part of what runs by writing it as if it were one.
 */
export function redactCommand(words: readonly string[]): readonly string[] {
  return words.map((word, at) => {
    // The program that runs is always told.
    if (at === 0) return word;
    if (FLAG.test(words[at - 1] ?? "") && WORD.test(word)) return MARK;
    return PATTERNS.reduce((text, pattern) => text.replace(pattern, `$1${MARK}`), word);
  });
}

/** Whether the audit has each word of the command as it runs. */
export function isTold(words: readonly string[]): boolean {
  return redactCommand(words).every((word, at) => word === words[at]);
}
