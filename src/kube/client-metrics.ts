import { Counter, Histogram, type Registry } from "prom-client";
import type { ClientMetrics } from "./metrics.ts";

/** client-go's and component-base's: from a cached GET to the longest call that is allowed. */
const LATENCY_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const KIB = 1024;
const SIZE_BUCKETS = [64, 256, 512, ...[1, 4, 16, 64, 256, 1024, 4096, 16_384].map((kib) => kib * KIB)];
/** In place of a status when no answer came. client-go's own spelling. */
const NO_ANSWER = "<error>";

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
    help: "Request time. A watch counts until its first byte.",
    labelNames: ["verb", "host"],
    buckets: LATENCY_BUCKETS,
    registers,
  });
  const sent = new Histogram({
    name: "rest_client_request_size_bytes",
    help: "Size of request bodies.",
    labelNames: ["verb", "host"],
    buckets: SIZE_BUCKETS,
    registers,
  });
  const received = new Histogram({
    name: "rest_client_response_size_bytes",
    help: "Size of response bodies, watches excluded.",
    labelNames: ["verb", "host"],
    buckets: SIZE_BUCKETS,
    registers,
  });
  return {
    requestEnded({ method, host, code, seconds, requestBytes, responseBytes }) {
      requests.inc({ code: code ?? NO_ANSWER, method, host });
      latency.observe({ verb: method, host }, seconds);
      if (requestBytes !== undefined) sent.observe({ verb: method, host }, requestBytes);
      if (responseBytes !== undefined) received.observe({ verb: method, host }, responseBytes);
    },
    requestRetried({ method, host, code }) {
      retries.inc({ code: code ?? NO_ANSWER, verb: method, host });
    },
  };
}
