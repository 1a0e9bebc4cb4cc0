import { namespacedOperation } from "./operation.ts";
import { flag, integer, label, objectName, required, withDefault } from "./params.ts";
import { GIVEN } from "./result-words.ts";
import { pods } from "./rules.ts";

export const LOGS = namespacedOperation({
  name: "logs",
  tier: "read-only",
  summary: "Reads the log of a pod.",
  params: {
    pod: required(objectName),
    container: label,
    tailLines: withDefault(integer(1, 2_000), 200),
    sinceSeconds: integer(1, 86_400),
    previous: withDefault(flag, false),
  },
  rules: [pods("get", "list"), { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] }],
  result: {
    namespace: ["the command's own parameter", "shop"],
    pod: GIVEN,
    container: ["the container read", "api"],
    log: ["**the newest lines of that container's log**: at most 2,000 lines and 30,000 characters, redacted", "…"],
    cut: ["whether older lines were left out", true],
  },
});
