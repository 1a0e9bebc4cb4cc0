import pino from "pino";
import { Registry } from "prom-client";
import { systemClock } from "../../../src/base/clock.ts";
import { loadOperatorConfig } from "../../../src/operator/kernel/config.ts";
import { runOperator } from "../../../src/operator/operator.ts";

// The operator in its own process, so that a test can kill it as a node failure would.
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort(new Error("SIGTERM")));
const tools = { clock: systemClock, log: pino({ level: "info" }), registry: new Registry() };
await runOperator(loadOperatorConfig(process.env), tools, stop.signal);
