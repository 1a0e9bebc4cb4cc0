import { runAgent } from "../../agent/agent.ts";
import { AGENT_SETTINGS, loadAgentConfig } from "../../agent/kernel/config.ts";
import type { Service } from "./service-command.ts";

export const agentService: Service = {
  settings: AGENT_SETTINGS,
  ports: [AGENT_SETTINGS.healthPort.env, AGENT_SETTINGS.metricsPort.env],
  run: (env, tools, signal) => runAgent(loadAgentConfig(env), { ...tools, environment: env }, signal),
};
