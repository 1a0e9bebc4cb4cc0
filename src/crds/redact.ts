/**
 * What looks like a secret in text that is to leave the cluster. Closed list: the operator's metric has it as a label.
 */
export const REDACTION_RULES = [
  "private-key",
  "jwt",
  "authorization",
  "known-token",
  "url-password",
  "assignment",
] as const;
export type RedactionRule = (typeof REDACTION_RULES)[number];

/** Called once for each piece of text that was taken out. */
export type OnRedacted = (rule: RedactionRule) => void;

const MARK = "[redacted]";

/**
 * In this order: the first rule removes a key block whole before a rule for single words can cut into it. Each takes
 * linear time on a hostile log line: it can start at few places, repeats only a short part, or removes what it has
 * read.
 */
const RULES: readonly { readonly rule: RedactionRule; readonly pattern: RegExp; readonly keep: string }[] = [
  {
    rule: "private-key",
    pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g,
    keep: "",
  },
  {
    rule: "jwt",
    // Starts at the beginning of a word, and only where a dot and the next part follow, so that each word is read once.
    // If it started at each `eyJ`, a word with many of them would be read as many times.
    pattern: /(?<![\w-])(?=[\w-]{11,}\.[\w-]{8})([\w-]*?)\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
    keep: "$1",
  },
  {
    rule: "authorization",
    pattern: /\b(bearer|basic|negotiate)(\s+)(?!\[redacted])[\w.~+/=-]{8,8192}/gi,
    keep: "$1$2",
  },
  {
    rule: "known-token",
    // Prefixes of our own keys and of GitHub, GitLab, Slack, AWS, Stripe and others; they mean nothing else.
    pattern:
      /\b(?:sp_[wpdgm]_[0-9a-z]{4,16}_[0-9A-Za-z]{8,80}|gh[opsur]_[0-9A-Za-z]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,64}|xox[abprs]-[\w-]{10,255}|AKIA[0-9A-Z]{16}|[sr]k_(?:live|test)_[0-9A-Za-z]{16,255}|sk-[\w-]{20,255})/g,
    keep: "",
  },
  {
    rule: "url-password",
    pattern: /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@]{0,256}:)(?!\[redacted])[^\s/@]{1,256}@/gi,
    keep: "$1",
  },
  {
    rule: "assignment",
    // password=…, "apiKey": "…", DB_SECRET: …; the name stays, so that a reader sees what was removed.
    pattern:
      /((?<![\w.-])["']?[\w.-]{0,64}(?:passw(?:or)?d|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization)[\w.-]{0,64}["']?\s{0,8}[=:]\s{0,8})(?!\[redacted]|["']?(?:bearer|basic) \[redacted])("[^"\n]{1,8192}"?|'[^'\n]{1,8192}'?|[^\s,;&"'}\])]{1,8192})/gi,
    keep: "$1",
  },
];

/**
 * Replaces what looks like a secret. It is a pattern match and can miss one; results are also limited to chosen fields.
 */
export function redactText(text: string, onRedacted: OnRedacted): string {
  let clean = text;
  for (const { rule, pattern, keep } of RULES) {
    clean = clean.replace(pattern, (...match) => {
      onRedacted(rule);
      const groups = match.slice(1, 3).map((group) => (typeof group === "string" ? group : ""));
      const kept = keep.replace(/\$(\d)/g, (_, digit: string) => groups[Number(digit) - 1] ?? "");
      return `${kept}${MARK}${rule === "url-password" ? "@" : ""}`;
    });
  }
  return clean;
}
