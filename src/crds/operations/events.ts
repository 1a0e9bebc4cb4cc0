import { namespacedOperation } from "./operation.ts";
import { integer, objectName, text, withDefault } from "./params.ts";
import { EVENTS as EVENT_WORDS } from "./result-words.ts";
import { LIST_EVENTS } from "./rules.ts";

export const EVENTS = namespacedOperation({
  name: "events",
  tier: "read-only",
  summary: "Lists the events of a namespace.",
  params: {
    name: objectName,
    kind: text(63, /^[A-Za-z][A-Za-z0-9]*$/, "a kind such as Pod"),
    limit: withDefault(integer(1, 500), 50),
  },
  rules: [LIST_EVENTS],
  result: { namespace: ["the command's own parameter", "shop"], ...EVENT_WORDS },
});
