import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { benchReconcile, benchSync } from "./against-peer.ts";
import { findPeer } from "./peer.ts";
import { benchStory } from "./story.ts";
import { printed, type Row } from "./table.ts";

const HELP = `npm run bench -- [options]

Measures what is promised about speed on a real API server, prints a table, and writes every figure to
bench-results/<time>.json. Only ratios and medians count: machines differ, and slow down while measuring.

  --only NAME     sync, reconcile, story (may be given more than once); default: all
  --pods N        sizes of the synced cache, comma-separated        (10000,50000)
  --widgets N     objects a run of the reconcile benchmark          (2000)
  --rounds N      operations of each kind in the story              (200)
  --runs N        counted runs of each side, one uncounted before   (5)
  --help
`;

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    pods: { type: "string", default: "10000,50000" },
    widgets: { type: "string", default: "2000" },
    rounds: { type: "string", default: "200" },
    runs: { type: "string", default: "5" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("stopped")));
const say = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`);
const wanted = (name: string): boolean => values.only.length === 0 || values.only.includes(name);
const runs = Number(values.runs);
const rows: Row[] = [];

if (wanted("sync") || wanted("reconcile")) {
  const peer = await findPeer(say, stop.signal);
  const sizes = values.pods.split(",").map(Number);
  if (wanted("sync")) rows.push(...(await benchSync(peer, sizes, runs, say, stop.signal)));
  if (wanted("reconcile")) rows.push(...(await benchReconcile(peer, Number(values.widgets), runs, say, stop.signal)));
}

if (wanted("story")) rows.push(...(await benchStory(Number(values.rounds), say, stop.signal)));

console.log(`\n${printed(rows)}`);
const folder = join(import.meta.dirname, "../../bench-results");
mkdirSync(folder, { recursive: true });
const file = join(folder, `${new Date().toISOString().replaceAll(":", "-")}.json`);
writeFileSync(file, `${JSON.stringify({ node: process.version, rows }, null, 2)}\n`);
console.log(`\nall figures: ${file}`);
