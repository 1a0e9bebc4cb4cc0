import { loadOperatorConfig, OPERATOR_SETTINGS } from "../../operator/kernel/config.ts";
import { runOperator } from "../../operator/operator.ts";
import type { Service } from "./service-command.ts";

export const operatorService: Service = {
  settings: OPERATOR_SETTINGS,
  ports: [OPERATOR_SETTINGS.healthPort.env, OPERATOR_SETTINGS.metricsPort.env],
  run: (env, tools, signal) => runOperator(loadOperatorConfig(env), tools, signal),
};
