import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { stringify } from "yaml";
import { type ProgramResult, prometheusPrograms, runProgram } from "./prometheus.ts";

export interface Promtool {
  /** `promtool check rules` of files. */
  readonly checkRules: (...files: readonly string[]) => Promise<ProgramResult>;
  /** `promtool test rules` of a test file with this content. */
  readonly testRules: (content: object) => Promise<ProgramResult>;
  /** A file in a folder that goes with the tests. */
  readonly write: (name: string, content: object) => Promise<string>;
}

/** promtool for the test file that calls it; on a machine without, it is fetched before the first test. */
export function usePromtool(): Promtool {
  let program = "";
  let folder = "";
  beforeAll(async () => {
    const say = (line: string): void => void process.stderr.write(`${line}\n`);
    ({ promtool: program } = await prometheusPrograms(say, new AbortController().signal));
    folder = await mkdtemp(join(tmpdir(), "sallyport-promtool-"));
  }, 300_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const write = async (name: string, content: object): Promise<string> => {
    const file = join(folder, name);
    await writeFile(file, stringify(content));
    return file;
  };
  return {
    write,
    checkRules: (...files) => runProgram(program, ["check", "rules", ...files], folder),
    testRules: async (content) => runProgram(program, ["test", "rules", await write("test.yaml", content)], folder),
  };
}
