import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { ERRORS, type ErrorCode } from "../../../contract/wire/errors.ts";
import type { ConnectionCounts } from "../../database/connection-count.ts";
import { BUDGET_NAMES, type BudgetName } from "../budgets/budgets.ts";

const CODE_CLASSES = ["2xx", "3xx", "4xx", "5xx"] as const;
const SWEEP_RESULTS = ["ok", "failed"] as const;
const RELAY_SIDES = ["attach", "tunnel"] as const;
const FORWARD_RESULTS = ["connected", "refused", "unreachable"] as const;

/** What the server counts. Every label has a closed list of values: routes are the templates of the table. */
export interface PlatformMetrics {
  /** A request outside of the endpoints counts as `none`: probes, pages, unknown paths. */
  request(method: string, route: string, status: number, seconds: number): void;
  /** An answer carried this error. */
  refused(code: ErrorCode): void;
  inFlight(change: 1 | -1): void;
  /** A long-poll begins or ends. */
  polling(change: 1 | -1): void;
  relaySocket(side: (typeof RELAY_SIDES)[number], change: 1 | -1): void;
  /** A side's socket was sent on to the replica with the other side. */
  relayForward(result: (typeof FORWARD_RESULTS)[number]): void;
  rateLimited(): void;
  transactionRetried(): void;
  budgetRefused(budget: BudgetName): void;
  /** @param at when the sweep ended. */
  swept(sweep: string, result: (typeof SWEEP_RESULTS)[number], at: Date): void;
}

/** What the metrics need to know at start. */
export interface Countable {
  readonly endpoints: readonly { readonly route: { readonly method: string; readonly path: string } }[];
  readonly sweeps: readonly string[];
  /** Called at each scrape. */
  readonly connections: () => ConnectionCounts;
}

/** Declares the platform's metrics on `registry`, every counter at 0, so that `rate()` sees the first event. */
export function platformMetrics(registry: Registry, countable: Countable): PlatformMetrics {
  databaseGauges(registry, countable.connections);
  return {
    ...httpMetrics(registry, countable.endpoints),
    ...loadMetrics(registry),
    ...sweepMetrics(registry, countable.sweeps),
  };
}

function httpMetrics(
  registry: Registry,
  endpoints: Countable["endpoints"],
): Pick<PlatformMetrics, "request" | "refused"> {
  const registers = [registry];
  const requests = new Counter({
    name: "sallyport_http_requests_total",
    help: "How many requests were answered, and how?",
    labelNames: ["method", "route", "code_class"],
    registers,
  });
  // Unlike the counters this does not start at 0: that would be sixteen lines for each route that is never called.
  const duration = new Histogram({
    name: "sallyport_http_request_duration_seconds",
    help: "How long did requests take? Long-polls are held up to 30 s on purpose.",
    labelNames: ["method", "route"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const errors = new Counter({
    name: "sallyport_http_errors_total",
    help: "Answers that were errors, by the API's code.",
    labelNames: ["code"],
    registers,
  });
  const none = { method: "none", route: "none" };
  const known = new Map(endpoints.map(({ route: { method, path } }) => [`${method} ${path}`, { method, route: path }]));
  for (const labels of [...known.values(), none]) {
    for (const code_class of CODE_CLASSES) requests.inc({ ...labels, code_class }, 0);
  }
  for (const code of Object.keys(ERRORS)) errors.inc({ code }, 0);
  return {
    request(method, route, status, seconds) {
      const labels = known.get(`${method} ${route}`) ?? none;
      requests.inc({ ...labels, code_class: classOf(status) });
      duration.observe(labels, seconds);
    },
    refused: (code) => errors.inc({ code }),
  };
}

/** Counts an upgrade (101) as a success. */
function classOf(status: number): (typeof CODE_CLASSES)[number] {
  if (status < 300) return "2xx";
  return status < 400 ? "3xx" : status < 500 ? "4xx" : "5xx";
}

type LoadMetrics = Pick<
  PlatformMetrics,
  "inFlight" | "polling" | "relaySocket" | "relayForward" | "rateLimited" | "transactionRetried" | "budgetRefused"
>;

function loadMetrics(registry: Registry): LoadMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const inFlight = gauge(
    "sallyport_http_requests_in_flight",
    "How many requests are being answered now, long-polls included?",
  );
  const polls = gauge("sallyport_long_polls", "Long-polls held now: how many managers listen?");
  const sockets = new Gauge({
    name: "sallyport_relay_sockets",
    help: "WebSockets of debug sessions open now: engineers attach, managers bring the tunnel.",
    labelNames: ["side"],
    registers,
  });
  for (const side of RELAY_SIDES) sockets.set({ side }, 0);
  const forwards = new Counter({
    name: "sallyport_relay_forwards_total",
    help: "WebSockets of debug sessions that came here and were sent on to the replica with the other side: with what result?",
    labelNames: ["result"],
    registers,
  });
  for (const result of FORWARD_RESULTS) forwards.inc({ result }, 0);
  const limited = counter(
    "sallyport_rate_limited_total",
    "How many requests were refused because their caller made too many?",
  );
  const retried = counter(
    "sallyport_transaction_retries_total",
    "How often did a transaction lose a race and run again?",
  );
  const refused = new Counter({
    name: "sallyport_platform_budget_refused_total",
    help: "What went beyond a tenant's budget and was refused, or left out: who takes more than its part?",
    labelNames: ["budget"],
    registers,
  });
  for (const budget of BUDGET_NAMES) refused.inc({ budget }, 0);
  return {
    budgetRefused: (budget) => refused.inc({ budget }),
    inFlight: (change) => inFlight.inc(change),
    polling: (change) => polls.inc(change),
    relaySocket: (side, change) => sockets.inc({ side }, change),
    relayForward: (result) => forwards.inc({ result }),
    rateLimited: () => limited.inc(),
    transactionRetried: () => retried.inc(),
  };
}

function sweepMetrics(registry: Registry, names: readonly string[]): Pick<PlatformMetrics, "swept"> {
  const registers = [registry];
  const sweeps = new Counter({
    name: "sallyport_sweeps_total",
    help: "Runs of the work that no request asks for: expiries and clean-up, once a minute.",
    labelNames: ["sweep", "result"],
    registers,
  });
  const last = new Gauge({
    name: "sallyport_sweep_last_success_timestamp_seconds",
    help: "When each last succeeded; 0 before the first.",
    labelNames: ["sweep"],
    registers,
  });
  for (const sweep of names) {
    for (const result of SWEEP_RESULTS) sweeps.inc({ sweep, result }, 0);
    last.set({ sweep }, 0);
  }
  return {
    swept(sweep, result, at) {
      sweeps.inc({ sweep, result });
      if (result === "ok") last.set({ sweep }, at.getTime() / 1_000);
    },
  };
}

function databaseGauges(registry: Registry, read: () => ConnectionCounts): void {
  const gauge = (name: string, help: string, key: keyof ConnectionCounts): void =>
    void new Gauge({
      name: `sallyport_database_connections_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(read()[key]);
      },
    });
  gauge("busy", "Connections to the database in use now.", "busy");
  gauge("waiting", "Requests in line for a connection.", "waiting");
  gauge("max", "Connections that this process opens at most: how near is the pool to its end?", "most");
}
