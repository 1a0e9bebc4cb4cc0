import { Registry } from "prom-client";
import { type AgentTools, runAgent } from "../../src/agent/agent.ts";
import { loadAgentConfig } from "../../src/agent/kernel/config.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { type Logger, silentLogger } from "../../src/base/log.ts";
import { loadMachinesConfig } from "../../src/machine-controller/kernel/config.ts";
import { runMachineController } from "../../src/machine-controller/machine-controller.ts";
import { loadOperatorConfig, type OperatorConfig } from "../../src/operator/kernel/config.ts";
import { type OperatorTools, runOperator } from "../../src/operator/operator.ts";
import { PATIENT_LEASE } from "./wait.ts";

export type Environment = Readonly<Record<string, string>>;

/** An agent, operator or machine controller in the process of the test. */
export interface Running {
  readonly registry: Registry;
  /** Rejects when it fails. */
  readonly ended: Promise<void>;
  /** The error with which it ended; undefined while it runs. */
  readonly failure: unknown;
  /** @throws what it failed with, also if that was long before */
  stop(): Promise<void>;
}

/** Any port for health; and no end by a renewal that a busy machine makes late. */
const HERE = { SALLYPORT_HEALTH_HOST: "127.0.0.1", SALLYPORT_HEALTH_PORT: "0", ...PATIENT_LEASE };

/** `Cluster.apply` waits until policies are enforced. */
const ENFORCED = { SALLYPORT_ADMISSION_SETTLE_TIME: "0s" };

export function startAgent(env: Environment, tools: Partial<AgentTools> = {}): Running {
  const config = loadAgentConfig({ ...HERE, ...env });
  return start((own, stop) => runAgent(config, { ...own, ...tools }, stop));
}

/** @param more settings in place of those of `env` */
export function startOperator(
  env: Environment,
  tools: Partial<OperatorTools> = {},
  more: Partial<OperatorConfig> = {},
): Running {
  const config = { ...loadOperatorConfig({ ...HERE, ...ENFORCED, ...env }), ...more };
  return start((own, stop) => runOperator(config, { ...own, ...tools }, stop));
}

export function startMachineController(env: Environment): Running {
  const config = loadMachinesConfig({ ...HERE, ...env });
  return start((own, stop) => runMachineController(config, own, stop));
}

interface Tools {
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

function start(run: (tools: Tools, signal: AbortSignal) => Promise<void>): Running {
  const registry = new Registry();
  const stop = new AbortController();
  let failure: unknown;
  const ended = run({ clock: systemClock, log: silentLogger, registry }, stop.signal);
  ended.catch((error: unknown) => {
    failure = error;
  });
  return {
    registry,
    ended,
    get failure() {
      return failure;
    },
    stop() {
      stop.abort(new Error("test over"));
      return ended;
    },
  };
}

/** Adds a line of JSON for each event, with the errors' causes and contexts: tests search them for what must not be there. */
export function recorder(lines: string[], bindings: object = {}): Logger {
  const write =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push(
        JSON.stringify({ level, ...bindings, ...fields, message }, (_, value) =>
          value instanceof Error ? { ...value, message: value.message, cause: value.cause, stack: value.stack } : value,
        ),
      );
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (more) => recorder(lines, { ...bindings, ...more }),
  };
}
