import { readOptions, refuse } from "../../../scripts/running/options.ts";
import { judge } from "./judge.ts";
import { record } from "./record.ts";

const SCRIPT = {
  name: "npm run oracle",
  help: `usage: npm run oracle -- record [SCENE …]
       npm run oracle -- judge

Makes the fixtures of the workload states again.

  record  plays the scenes on a real API server
  judge   asks kstatus and the gitops-engine about what was recorded
`,
};

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());
process.once("SIGTERM", () => stop.abort());
const say = (line: string): void => void process.stderr.write(`${line}\n`);

const [verb, ...names] = readOptions(SCRIPT, {}, { allowPositionals: true }).positionals;
if (verb === "record") await record(names, say, stop.signal);
else if (verb === "judge") await judge(say, stop.signal);
else refuse(SCRIPT, "one of: record, judge");
