import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { freePort } from "../../lab/cluster/ports.ts";
import { Program } from "../../lab/cluster/program.ts";
import { Watchdog } from "../../lab/cluster/watchdog.ts";
import { prometheusPrograms } from "../chart/prometheus.ts";

/** A pod's address and labels, as a ServiceMonitor would give them. */
export interface Target {
  readonly job: string;
  /** Added by the customer's aggregation, where one Prometheus sees several clusters; else there is none. */
  readonly cluster?: string;
  readonly namespace: string;
  readonly pod: string;
  readonly url: string;
}

export interface RuleState {
  readonly name: string;
  /** `ok`, `err`, or `unknown` before the first evaluation. */
  readonly health: string;
  readonly lastError?: string;
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** A real Prometheus that scrapes and evaluates rules every second. */
export class PrometheusServer {
  readonly url: string;

  private constructor(url: string) {
    this.url = url;
  }

  static async start(
    options: {
      readonly folder: string;
      readonly targets: readonly Target[];
      readonly ruleFiles: readonly string[];
      /** Further arguments, such as the place of its web files, for a person who wants to see its pages. */
      readonly more?: readonly string[];
    },
    stack: AsyncDisposableStack,
    signal: AbortSignal,
  ): Promise<PrometheusServer> {
    const { folder, targets, ruleFiles, more = [] } = options;
    const { prometheus } = await prometheusPrograms((line) => process.stderr.write(`${line}\n`), signal);
    await mkdir(folder, { recursive: true });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const config = join(folder, "prometheus.yml");
    await writeFile(config, stringify(configuration(targets, ruleFiles)));
    const watchdog = new Watchdog();
    stack.defer(() => watchdog.done());
    const program = new Program({
      name: "prometheus",
      path: prometheus,
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=127.0.0.1:${port}`,
        ...more,
      ],
      logFile: join(folder, "prometheus.log"),
      watchdog,
      isReady: (each) =>
        fetch(`${url}/-/ready`, { signal: each }).then(
          ({ ok }) => ok,
          () => false,
        ),
    });
    stack.defer(() => program.kill());
    program.spawn();
    await program.whenReady(signal);
    return new PrometheusServer(url);
  }

  async rules(): Promise<readonly RuleState[]> {
    const { groups } = (await this.#ask("rules", {})) as {
      groups: readonly { readonly rules: readonly RuleState[] }[];
    };
    return groups.flatMap(({ rules }) => rules);
  }

  /** @throws Error with Prometheus's message for an expression that it cannot evaluate */
  async query(expr: string): Promise<readonly Sample[]> {
    return ((await this.#ask("query", { query: expr })) as { result: readonly Sample[] }).result;
  }

  /** The same over the last `seconds`. */
  async range(expr: string, seconds: number): Promise<readonly unknown[]> {
    const end = Date.now() / 1_000;
    const span = { start: String(end - seconds), end: String(end), step: String(seconds / 4) };
    return ((await this.#ask("query_range", { query: expr, ...span })) as { result: readonly unknown[] }).result;
  }

  /** Values of a label over the series that a selector matches. */
  async labelValues(label: string, match: string): Promise<readonly string[]> {
    return (await this.#ask(`label/${label}/values`, { "match[]": match })) as readonly string[];
  }

  async series(match: string): Promise<readonly Readonly<Record<string, string>>[]> {
    return (await this.#ask("series", { "match[]": match })) as readonly Readonly<Record<string, string>>[];
  }

  async #ask(path: string, query: Readonly<Record<string, string>>): Promise<unknown> {
    const answer = await fetch(`${this.url}/api/v1/${path}?${new URLSearchParams(query)}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: unknown; error?: string };
    if (status !== "success") throw new Error(`${path} ${Object.values(query)[0] ?? ""}: ${error}`);
    return data;
  }
}

function configuration(targets: readonly Target[], ruleFiles: readonly string[]): object {
  return {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: ruleFiles,
    scrape_configs: [...new Set(targets.map(({ job }) => job))].map((job) => ({
      job_name: job,
      static_configs: targets
        .filter((each) => each.job === job)
        .map(({ cluster, namespace, pod, url }) => ({
          targets: [new URL(url).host],
          labels: { ...(cluster !== undefined && { cluster }), namespace, pod },
        })),
    })),
  };
}
