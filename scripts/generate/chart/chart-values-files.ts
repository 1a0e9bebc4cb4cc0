import { stringify } from "yaml";
import type { ValueNode } from "./chart-value.ts";

const WIDTH = 110;

/** values.yaml: every value with its default, and above it what it means. */
export function valuesYaml(node: ValueNode): string {
  return `# Made by \`npm run generate\` from scripts/generate/chart/chart-values.ts. Do not edit.\n${lines(node, "").join("\n")}\n`;
}

function lines(node: ValueNode, indent: string): readonly string[] {
  if (node.kind === "leaf") throw new Error("a chart's values are a mapping");
  return Object.entries(node.fields).flatMap(([name, field]) => {
    const comment = wrapped(field.doc, WIDTH - indent.length).map((line) => `${indent}# ${line}`);
    if (field.kind === "branch") return [...comment, `${indent}${name}:`, ...lines(field, `${indent}  `)];
    const value = stringify({ [name]: field.fallback }, { lineWidth: 0 })
      .trimEnd()
      .split("\n");
    return [...comment, ...value.map((line) => indent + line)];
  });
}

/**
 * values.schema.json: helm refuses an unknown name and says which. At the top it accepts what a parent chart puts
 * there: `global`, the `enabled` and `tags` of its conditions, and `x-…` for YAML anchors.
 */
export function valuesSchema(node: ValueNode): string {
  const schema = schemaOf(node);
  const properties = { ...Object(schema).properties, enabled: { type: "boolean" }, tags: { type: "object" } };
  const top = {
    $schema: "http://json-schema.org/draft-07/schema#",
    ...schema,
    properties,
    patternProperties: { "^x-": {} },
  };
  return `${JSON.stringify(top, null, 2)}\n`;
}

function schemaOf(node: ValueNode): object {
  if (node.kind === "leaf") return { ...node.schema, description: node.doc };
  const properties = Object.fromEntries(Object.entries(node.fields).map(([name, field]) => [name, schemaOf(field)]));
  const required = Object.entries(node.fields).flatMap(([name, { isNeeded }]) => (isNeeded ? [name] : []));
  return {
    type: "object",
    ...(node.doc && { description: node.doc }),
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** The README's table: a row a value. */
export function valuesTable(node: ValueNode): string {
  return ["| Value | Default | Meaning |", "|---|---|---|", ...rows(node, "")].join("\n");
}

function rows(node: ValueNode, path: string): readonly string[] {
  if (node.kind === "leaf") {
    return [`| \`${path}\` | \`${JSON.stringify(node.fallback)}\` | ${node.doc.replaceAll("|", "\\|")} |`];
  }
  return Object.entries(node.fields).flatMap(([name, field]) => rows(field, path === "" ? name : `${path}.${name}`));
}

function wrapped(text: string, width: number): readonly string[] {
  const found: string[] = [];
  let line = "";
  for (const word of text.split(" ").filter((each) => each !== "")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      found.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return line === "" ? found : [...found, line];
}
