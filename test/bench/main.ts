import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readOptions, refuse } from "../../scripts/running/options.ts";
import { benchReconcile, benchSync } from "./against-peer.ts";
import { benchAgent } from "./agent/bench.ts";
import { benchCli } from "./cli/bench.ts";
import { benchDebug } from "./debug/bench.ts";
import { benchMachines } from "./machines/bench.ts";
import { findPeer } from "./peer.ts";
import { benchPlatform } from "./platform/bench.ts";
import { benchHealth } from "./platform/health.ts";
import { benchPolicies } from "./policies/bench.ts";
import { benchReleases } from "./releases/bench.ts";
import { benchStory } from "./story.ts";
import { printed, type Row } from "./table.ts";

const HELP = `usage: npm run bench -- [options]
       npm run bench -- platform [options]
       npm run bench -- health [options]
       npm run bench -- debug [options]
       npm run bench -- machines [options]
       npm run bench -- releases [options]
       npm run bench -- cli [--runs N]
       npm run bench -- policies [--runs N]

Measures what is promised about speed on a real API server, prints a table, and writes every figure to
bench-results/<time>.json. Only ratios and medians count: machines differ, and slow down while measuring.

With \`platform\` the same for the Management API, on PostgreSQL and on the embedded database.
With \`health\` what watching and telling the health of resources costs the agent, on a real API server, and
what its reports cost the platform, on PostgreSQL.
With \`debug\` what debug sessions add to kubectl, beside other ways to the same API server. Needs PostgreSQL.
With \`machines\` a drain beside kubectl drain: time, calls, and how soon a pod goes whose budget has room;
what drains at once and 500 machines that wait cost.
With \`releases\` a release beside kubectl and helm: time, calls, writes, the operator's memory; how soon after the
promotion its first object is there; and many deployments promoted at once. Needs PostgreSQL and Go.
With \`cli\` the CPU that the command line takes to start, beside kubectl.
With \`policies\` the CPU that an installation takes of the API server, beside as many short policies.

  --only NAME     sync, reconcile, story; of the platform throughput, lists, agents; of health caches,
                  rest, told, churn, reports, confirms; of debug open, kill, pods, throughput, audit, idle;
                  of machines polls, crowd, free, budgets, freed; of releases install, unchanged, memory,
                  promote, together, neighbours
                  (may be given more than once);
                  default: all
  --pods N        sizes of the synced cache, comma-separated; of health the last   (10000,50000)
  --widgets N     objects a run of the reconcile benchmark          (2000)
  --rounds N      operations of each kind in the story (200); of debug, get pods each way (40)
  --runs N        counted runs of each side, one uncounted before (5); of debug, transfers each way (3)
  --seconds N     of one run of the platform's throughput           (1)
  --rows N        of the long lists, against 1000                   (100000)
  --agents N      that heartbeat and hold the work feed; of health, that confirm (10000)
  --rest N        seconds at rest, of health                        (300)
  --worsened N    workloads that get worse, of health               (40)
  --churn N       seconds with 100 changes each, of health          (300)
  --opens N       sessions opened one after the other, of debug     (20)
  --kills N       sessions that each hand ends, of debug            (20)
  --mebibytes N   of a transfer, of debug                           (64)
  --sessions N    held in one tunnel, of debug                      (100)
  --drained N     pods on the node that is drained, of machines     (1000)
  --drains N      nodes of 100 pods drained at once, of machines    (50)
  --objects N     of a release                                      (300)
  --promotions N  over a slow link, of releases                     (50)
  --followers N   promoted at once, each with its own manager       (1000)
  --neighbours N  promoted at once in one cluster                   (100)
  --help
`;

const SCRIPT = { name: "npm run bench", help: HELP };
const { values, positionals } = readOptions(
  SCRIPT,
  {
    only: { type: "string", multiple: true, default: [] },
    pods: { type: "string", default: "10000,50000" },
    widgets: { type: "string", default: "2000" },
    rounds: { type: "string" },
    opens: { type: "string", default: "20" },
    kills: { type: "string", default: "20" },
    mebibytes: { type: "string", default: "64" },
    sessions: { type: "string", default: "100" },
    runs: { type: "string" },
    seconds: { type: "string", default: "1" },
    rows: { type: "string", default: "100000" },
    agents: { type: "string", default: "10000" },
    rest: { type: "string", default: "300" },
    worsened: { type: "string", default: "40" },
    churn: { type: "string", default: "300" },
    drained: { type: "string", default: "1000" },
    drains: { type: "string", default: "50" },
    objects: { type: "string", default: "300" },
    promotions: { type: "string", default: "50" },
    followers: { type: "string", default: "1000" },
    neighbours: { type: "string", default: "100" },
  },
  { allowPositionals: true },
);

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("stopped")));
const say = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`);
const wanted = (name: string): boolean => values.only.length === 0 || values.only.includes(name);
const rows: Row[] = [];
const [only] = positionals;
const ofPlatform = only === "platform";
const ofHealth = only === "health";
const ofDebug = only === "debug";
const ofMachines = only === "machines";
const ofReleases = only === "releases";
const ofCli = only === "cli";
const ofPolicies = only === "policies";
const ofCluster = only === undefined;
if (positionals.length > (ofPlatform || ofHealth || ofDebug || ofMachines || ofReleases || ofCli || ofPolicies ? 1 : 0))
  refuse(SCRIPT, `there is no benchmark ${positionals.at(-1)}`);

if (ofPlatform) {
  const { seconds, rows: many, agents, runs = "3" } = values;
  const sizes = { rounds: Number(runs), seconds: Number(seconds), many: Number(many), agents: Number(agents) };
  rows.push(...(await benchPlatform({ ...sizes, wanted, say }, stop.signal)));
}

if (ofHealth) {
  const { rest, worsened, churn, pods } = values;
  const times = { restSeconds: Number(rest), worsened: Number(worsened), churnSeconds: Number(churn) };
  const ofAgent = { pods: Number(pods.split(",").at(-1)), runs: Number(values.runs ?? "5"), ...times };
  const peer = { findPeer: () => findPeer(say, stop.signal) };
  rows.push(...(await benchAgent({ ...ofAgent, ...peer, wanted, say }, stop.signal)));
  const sizes = { agents: Number(values.agents), rounds: Number(values.runs ?? "5") };
  rows.push(...(await benchHealth({ ...sizes, wanted, say }, stop.signal)));
}

if (ofDebug) {
  const { rounds = "40", runs: transfers = "3", opens, kills, mebibytes, sessions } = values;
  const sizes = { rounds: Number(rounds), runs: Number(transfers), mebibytes: Number(mebibytes) };
  const counts = { opens: Number(opens), kills: Number(kills), sessions: Number(sessions) };
  rows.push(...(await benchDebug({ ...sizes, ...counts, wanted, say }, stop.signal)));
}

if (ofMachines) {
  const sizes = { drained: Number(values.drained), drains: Number(values.drains) };
  rows.push(...(await benchMachines({ ...sizes, wanted, say }, stop.signal)));
}

if (ofReleases) {
  const { runs: each = "3", objects, promotions, followers, neighbours } = values;
  const sizes = { objects: Number(objects), runs: Number(each), promotions: Number(promotions) };
  const counts = { followers: Number(followers), neighbours: Number(neighbours) };
  rows.push(...(await benchReleases({ ...sizes, ...counts, wanted, say }, stop.signal)));
}

if (ofCli) rows.push(...(await benchCli({ runs: Number(values.runs ?? "11"), say }, stop.signal)));
if (ofPolicies) rows.push(...(await benchPolicies({ runs: Number(values.runs ?? "3"), say }, stop.signal)));

const runs = Number(values.runs ?? "5");
if (ofCluster && (wanted("sync") || wanted("reconcile"))) {
  const peer = await findPeer(say, stop.signal);
  const sizes = values.pods.split(",").map(Number);
  if (wanted("sync")) rows.push(...(await benchSync(peer, sizes, runs, say, stop.signal)));
  if (wanted("reconcile")) rows.push(...(await benchReconcile(peer, Number(values.widgets), runs, say, stop.signal)));
}

if (ofCluster && wanted("story")) rows.push(...(await benchStory(Number(values.rounds ?? "200"), say, stop.signal)));

console.log(`\n${printed(rows)}`);
const folder = join(import.meta.dirname, "../../bench-results");
mkdirSync(folder, { recursive: true });
const file = join(folder, `${new Date().toISOString().replaceAll(":", "-")}.json`);
writeFileSync(file, `${JSON.stringify({ node: process.version, rows }, null, 2)}\n`);
console.log(`\nall figures: ${file}`);
