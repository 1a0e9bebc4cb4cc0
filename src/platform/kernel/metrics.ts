import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** What the server counts. Routes are templates of the table, so the labels are closed. */
export interface PlatformMetrics {
  request(method: string, route: string, status: number, seconds: number): void;
  inFlight(change: 1 | -1): void;
  rateLimited(): void;
  transactionRetried(): void;
}

export function platformMetrics(registry: Registry): PlatformMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: "sallyport_http_requests_total",
    help: "How many requests were answered, and how?",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const duration = new Histogram({
    name: "sallyport_http_request_duration_seconds",
    help: "How long did requests take? Long-polls are held up to 30 s on purpose.",
    labelNames: ["method", "route"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const inFlight = new Gauge({
    name: "sallyport_http_requests_in_flight",
    help: "How many requests are being answered now, long-polls included?",
    registers,
  });
  const limited = new Counter({
    name: "sallyport_rate_limited_total",
    help: "How many requests were refused because their caller made too many?",
    registers,
  });
  const retried = new Counter({
    name: "sallyport_transaction_retries_total",
    help: "How often did a transaction lose a race and run again?",
    registers,
  });
  return {
    request(method, route, status, seconds) {
      requests.inc({ method, route, status });
      duration.observe({ method, route }, seconds);
    },
    inFlight: (change) => inFlight.inc(change),
    rateLimited: () => limited.inc(),
    transactionRetried: () => retried.inc(),
  };
}
