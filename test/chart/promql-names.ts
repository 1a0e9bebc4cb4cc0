const WORDS = new Set([
  "and",
  "or",
  "unless",
  "by",
  "on",
  "without",
  "ignoring",
  "group_left",
  "group_right",
  "bool",
  "offset",
]);

/** The metrics in an expression. Also those of `{__name__=~"a_(b|c)"}` , when the pattern has only this form. */
export function metricsIn(expr: string): readonly string[] {
  const named = [...expr.matchAll(/__name__=~"([^"]*)"/g)].flatMap(([, pattern = ""]) => spelledOut(pattern));
  const bare = expr
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, "")
    .replaceAll(/\{[^}]*\}/g, " ")
    .replaceAll(/\[[^\]]*\]/g, " ")
    .replaceAll(/\b(by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)/g, " ");
  const found = [...bare.matchAll(/[a-zA-Z_:][\w:]*(?!\w*\s*\()/g)].map(([name]) => name);
  return [...named, ...found.filter((name) => !WORDS.has(name) && !isFunction(bare, name))];
}

/** The values of labels that an expression looks for, as far as they are spelled out: not those that it leaves out. */
export function labelValuesIn(
  expr: string,
): readonly { readonly metric: string; readonly label: string; readonly value: string }[] {
  return [...expr.matchAll(/([a-zA-Z_:][\w:]*)\{([^}]*)\}/g)].flatMap(([, metric = "", matchers = ""]) =>
    [...matchers.matchAll(/(\w+)=(~?)"([\w|.-]+)"/g)].flatMap(([, label = "", isPattern, text = ""]) =>
      (isPattern ? text.split("|") : [text]).map((value) => ({ metric, label, value })),
    ),
  );
}

function isFunction(expr: string, name: string): boolean {
  return new RegExp(`(^|[^\\w:])${name}\\s*\\(`).test(expr);
}

/** `a_(b|c)_d` → a_b_d, a_c_d. */
function spelledOut(pattern: string): readonly string[] {
  const [, before = "", choices = "", after = ""] = /^(\w*)\(([\w|]+)\)(\w*)$/.exec(pattern) ?? [];
  if (choices === "") throw new Error(`the names of ${pattern} cannot be told`);
  return choices.split("|").map((each) => `${before}${each}${after}`);
}
