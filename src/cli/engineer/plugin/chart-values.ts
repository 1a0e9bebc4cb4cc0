import { Document, isMap, isSeq } from "yaml";
import type { PluginMetadata, PluginOperation } from "../../../plugins/metadata.ts";
import { MEMORY_OF_PLUGIN, OPERATOR_WITH_PLUGINS, pluginsValues } from "../../../plugins/values.ts";
import { pluginRole } from "../../../plugins/words.ts";
import { wrap } from "../../kernel/settings.ts";

/** What the customer's chart takes, as plain data: the same that the platform gives with an image. */
export function chartValues(plugin: PluginMetadata): object {
  return { plugins: pluginsValues([plugin]), operator: OPERATOR_WITH_PLUGINS };
}

/** The same as a file for the customer, who reads it before it is applied: comments say what each part lets happen. */
export function chartValuesText(plugin: PluginMetadata): string {
  const document = new Document(chartValues(plugin));
  document.commentBefore = comment(
    `Values for the chart of Sallyport: what the plugin ${plugin.name} of your vendor may do in this cluster. ${plugin.description}`,
    "Nothing runs that is not here. Leave an operation out, or set enabled to false, and it is refused; take a rule away, and the " +
      "operation is held where it needs that rule. A higher tier asks for more: read-only, mutating, destructive.",
  );
  for (const operation of plugin.operations) {
    const node = document.getIn(["plugins", plugin.name, "operations", operation.name], true);
    if (!isMap(node)) continue;
    node.commentBefore = comment(...about(plugin, operation));
    const rules = node.get("rules", true);
    // A rule in one line, as people write it.
    for (const rule of isSeq(rules) ? rules.items : []) if (isMap(rule)) rule.flow = true;
  }
  const operator = document.get("operator", true);
  if (isMap(operator)) {
    operator.commentBefore = comment(
      `The process of a plugin runs in the operator's container and may take ${MEMORY_OF_PLUGIN} MiB there. Keep a larger limit if you have one.`,
    );
  }
  return document.toString({ lineWidth: 0 });
}

function about(plugin: PluginMetadata, { name, description, timeLimitSeconds, result }: PluginOperation) {
  const words = Object.keys(result);
  return [
    description,
    `It works in one namespace at a time, for at most ${timeLimitSeconds} s, with the role ${pluginRole(plugin.name, name)}: the rules below.`,
    words.length === 0
      ? "Its result tells the vendor nothing but whether it succeeded."
      : `Its result tells the vendor: ${Object.entries(result)
          .map(([word, says]) => `${word} (${says})`)
          .join(", ")}.`,
  ];
}

function comment(...paragraphs: readonly string[]): string {
  return paragraphs
    .filter((text) => text !== "")
    .flatMap((text) => wrap(text, 100))
    .map((line) => ` ${line}`)
    .join("\n");
}
