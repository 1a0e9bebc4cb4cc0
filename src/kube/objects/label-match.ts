import { isLabelSelector } from "../../base/label-selector.ts";

export type Labels = Readonly<Record<string, string>>;

export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** `meta/v1.LabelSelector`. */
export interface LabelSelector {
  readonly matchLabels: Labels;
  readonly matchExpressions: readonly Requirement[];
}

/** Whether the API server would say that `selector` selects an object with these labels. An empty one selects all. */
export function isSelected({ matchLabels, matchExpressions }: LabelSelector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    meets(matchExpressions, labels)
  );
}

/** Whether the labels meet all requirements. One of an operator that is not known is met by none. */
export function meets(requirements: readonly Requirement[], labels: Labels): boolean {
  return requirements.every(({ key, operator, values }) => {
    const value = labelOf(labels, key);
    switch (operator) {
      case "In":
        return value !== undefined && values.includes(value);
      case "NotIn":
        return value === undefined || !values.includes(value);
      case "Exists":
        return value !== undefined;
      case "DoesNotExist":
        return value === undefined;
      default:
        return false;
    }
  });
}

/** The requirements of a selector in its text form; undefined when the API server would not take it. */
export function parseSelector(text: string): readonly Requirement[] | undefined {
  if (!isLabelSelector(text)) return undefined;
  return partsOf(text).map(requirementOf);
}

function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** At the commas between requirements, and not at those inside of a set. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "(") depth += 1;
    else if (text[at] === ")") depth -= 1;
    else if (text[at] === "," && depth === 0) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim());
}

function requirementOf(part: string): Requirement {
  if (part.startsWith("!")) return { key: part.slice(1).trim(), operator: "DoesNotExist", values: [] };
  const open = part.indexOf("(");
  if (open >= 0) {
    const [key = "", word = ""] = part.slice(0, open).trim().split(/ +/);
    const values = part
      .slice(open + 1, part.lastIndexOf(")"))
      .split(",")
      .map((value) => value.trim());
    return { key, operator: word === "in" ? "In" : "NotIn", values };
  }
  const equals = part.indexOf("=");
  if (equals < 0) return { key: part, operator: "Exists", values: [] };
  const isNegated = part[equals - 1] === "!";
  const key = part.slice(0, isNegated ? equals - 1 : equals).trim();
  const value = part.slice(part[equals + 1] === "=" ? equals + 2 : equals + 1).trim();
  return { key, operator: isNegated ? "NotIn" : "In", values: [value] };
}
