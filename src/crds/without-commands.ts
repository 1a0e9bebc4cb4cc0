// An approver reads what agent and operator write (messages of conditions, notes of events) with a terminal open. The
// API server refuses a command in it (policies sallyport-no-commands-in-status and sallyport-no-commands-in-events). A
// line to paste has its own field, whose whole form is checked. Both patterns are written for RE2 and for JavaScript.

/** Characters by which a shell joins, redirects, expands or hides a command. A class without its brackets. */
const SIGNS = String.raw`\x60$|&<>*?\\{}\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}`;
/** The first word of a line that would change something, if a word follows it. `kubectl` is refused everywhere. */
const PROGRAMS = "helm|oc|k|curl|wget|sh|bash|sudo|ssh|eval|sallyport +approve";
const OPTION_AFTER = String.raw`^|[ ,;:(\[=]`;

/** Finds signs that such a text may not hold. */
export const SHELL_SIGNS: string = `[${SIGNS}]`;
/**
 * Finds a command in a text from which the quotes were removed, in any letter case: a shell removes quotes inside a
 * word.
 */
export const COMMAND_PATTERN: string = ["kubectl", `(${OPTION_AFTER})-+[a-z]`, `(^|[^a-z0-9])(${PROGRAMS}) +[^ ]`].join(
  "|",
);

const ANY_SIGN = new RegExp(SHELL_SIGNS, "gu");
const COMMAND = new RegExp(COMMAND_PATTERN, "iu");

/** True: the API server would refuse the text. */
export function holdsCommand(text: string): boolean {
  return text.search(ANY_SIGN) >= 0 || COMMAND.test(unquoted(text));
}

/**
 * `text` as agent and operator may write it: what they quote (an API server's answer, a person's reason) may hold a
 * command. The signs of a command become `_`, and so do the characters that make words a command. Other text keeps
 * everything but its line breaks.
 */
export function withoutCommands(text: string): string {
  const line = text.replace(/\s+/g, " ").replace(ANY_SIGN, "_");
  if (!COMMAND.test(unquoted(line))) return line;
  return unquoted(line)
    .replace(/ +/g, " ")
    .replace(/kube(?=ctl)/giu, "kube_")
    .replace(new RegExp(`(${OPTION_AFTER})-+(?=[a-z])`, "giu"), "$1_")
    .replace(new RegExp(`(?<![a-z0-9])(${PROGRAMS}) +(?=[^ ])`, "giu"), "$1_");
}

function unquoted(text: string): string {
  return text.replace(/["']/g, "");
}
