// Makes the fixtures of the workload states again:
//   npm run oracle record [SCENE…]  plays the scenes on a real API server
//   npm run oracle judge            asks kstatus and the gitops-engine about what was recorded
import { judge } from "./judge.ts";
import { record } from "./record.ts";

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());
process.once("SIGTERM", () => stop.abort());
const say = (line: string): void => void process.stderr.write(`${line}\n`);

const [verb, ...names] = process.argv.slice(2);
if (verb === "record") await record(names, say, stop.signal);
else if (verb === "judge") await judge(say, stop.signal);
else {
  say("one of: record, judge");
  process.exitCode = 2;
}
