import { writeFileSync } from "node:fs";
import { pino } from "pino";
import { Registry } from "prom-client";
import { systemClock } from "../../../src/base/clock.ts";
import { AuditLog } from "../../../src/tunnel/audit/audit-log.ts";
import { loadTunnelConfig } from "../../../src/tunnel/kernel/config.ts";
import { runTunnel } from "../../../src/tunnel/tunnel.ts";

// The tunnel as its command runs it. It serves as many sessions as the benchmark says, which its settings do not allow, and
// writes at its end how long each request waited for its record.

const { AUDIT_TIMES_FILE: file = "", SESSIONS = "16", ...environment } = process.env;
const times: number[] = [];
const { append } = AuditLog.prototype;
AuditLog.prototype.append = async function (this: AuditLog, type, fields) {
  const startMs = performance.now();
  await append.call(this, type, fields);
  if (type === "request") times.push(performance.now() - startMs);
};

const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => stop.abort(new Error(name)));
const config = { ...loadTunnelConfig(environment), maxConcurrent: Number(SESSIONS) };
const tools = { clock: systemClock, log: pino(), registry: new Registry(), environment };
await runTunnel(config, { ...tools, emit: (line) => void process.stdout.write(`${line}\n`) }, stop.signal);
if (file !== "") writeFileSync(file, JSON.stringify(times));
process.exit();
