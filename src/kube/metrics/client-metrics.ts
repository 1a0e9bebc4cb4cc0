import { Counter, Histogram, type Registry } from "prom-client";
import type { ClientMetrics } from "./metrics.ts";

/** client-go's and component-base's: from a cached GET to the longest call that is allowed. */
const LATENCY_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** client-go's REST metrics. Not zeroed in advance: the host is known only with the first request. */
export function clientMetrics(registry: Registry): ClientMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: "rest_client_requests_total",
    help: "Requests to the API server by status code: is it answering, and with what?",
    labelNames: ["code", "method", "host"],
    registers,
  });
  const retries = new Counter({
    name: "rest_client_request_retries_total",
    help: "Requests tried again, by the code that caused it.",
    labelNames: ["code", "verb", "host"],
    registers,
  });
  const latency = new Histogram({
    name: "rest_client_request_duration_seconds",
    help: "Request time.",
    labelNames: ["verb", "host"],
    buckets: LATENCY_BUCKETS,
    registers,
  });
  return {
    request({ method, host, code, durationSeconds }) {
      requests.inc({ code, method, host });
      latency.observe({ verb: method, host }, durationSeconds);
    },
    retry: ({ method, host, code }) => retries.inc({ code, verb: method, host }),
  };
}
