const MAX_SHOWN_VALUES = 20;
const MAX_SHOWN_LENGTH = 48;

/**
 * Lists the allowed values in words, up to a limit: a plugin's schema may list very many, and errors are shown whole.
 */
export function oneOf(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_SHOWN_VALUES).map((value) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
  });
  const more = values.length - shown.length;
  return `one of ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
