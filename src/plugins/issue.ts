/** What is wrong with a plugin's metadata or with params, and where. */
export interface Issue {
  /** A JSON pointer, or what the caller put before it. */
  readonly path: string;
  readonly message: string;
}

/** A longer list would not help the reader, and a stranger could cause large answers with small files. */
export const MAX_ISSUES = 50;

/** One step of a JSON pointer (RFC 6901), cut to a bounded length. */
export function pointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1").slice(0, 128);
}
