import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
/** The chart's, for customers; and the vendor's, beside the rule file of the platform. */
const FOLDERS = ["deploy/helm/sallyport/files/dashboards", "deploy/monitoring"];

/** The fields of Grafana's JSON that decide what Prometheus is asked. */
export interface DashboardPanel {
  readonly title: string;
  readonly type: string;
  /** A row has none. */
  readonly targets?: readonly { readonly expr: string; readonly instant: boolean }[];
}

export interface DashboardFile {
  readonly file: string;
  readonly dashboard: {
    readonly templating: {
      readonly list: readonly {
        readonly name: string;
        readonly type: string;
        readonly definition?: string;
        readonly allValue?: string;
      }[];
    };
    readonly panels: readonly DashboardPanel[];
  };
}

export const DASHBOARDS: readonly DashboardFile[] = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((file) => file.endsWith(".json"))
    .map((file) => ({ file, dashboard: JSON.parse(readFileSync(join(ROOT, folder, file), "utf8")) })),
);

/** Panels that ask something, without the headings of rows. */
export function panelsOf({ dashboard }: Pick<DashboardFile, "dashboard">): readonly DashboardPanel[] {
  return dashboard.panels.filter(({ type }) => type !== "row");
}
