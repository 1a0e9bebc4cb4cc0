import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toJavaScript } from "../../deploy/image/assemble.ts";

/** The flags that the chart sets. */
const NODE_FLAGS = ["--max-semi-space-size=8"];
const PROGRAMS = ["ours.ts", "kinds.ts", "own-process.ts", "seed.ts", "loop-delay.ts", "debug/tunnel-process.ts"];

export interface Shipped {
  /** Runs a program of this folder, as `ours`. */
  command(program: string): readonly string[];
  /** Runs a process of the product, under the chart's flags. */
  process(kind: "agent" | "operator" | "join" | "machine-controller"): readonly string[];
  /** Runs the engineer's command line. */
  readonly cli: readonly string[];
  /** Runs the agent, which appends each second's longest stall to the file that `LOOP_DELAY_FILE` names. */
  readonly agent: readonly string[];
  /** What a pod has of its service account. */
  setAccount(account: { readonly ca: string; readonly token: string; readonly namespace: string }): Promise<void>;
}

/** As the image is: JavaScript, as the peer is compiled, under the chart's flags. */
export async function shipped(stack: AsyncDisposableStack): Promise<Shipped> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const root = join(import.meta.dirname, "../..");
  const isShipped = (file: string): boolean => !file.endsWith(".test.ts");
  await cp(join(root, "src"), join(folder, "src"), { recursive: true, filter: isShipped });
  await cp(join(root, "package.json"), join(folder, "package.json"));
  await cp(join(root, "deploy/join"), join(folder, "deploy/join"), { recursive: true });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  toJavaScript(join(folder, "src"));
  const programs = join(folder, "test/bench");
  for (const name of PROGRAMS) await cp(join(import.meta.dirname, name), join(programs, name));
  toJavaScript(programs);
  const account = join(folder, "account");
  await usesAccount(join(folder, "src/kube/client/connection.js"), account);
  return {
    command: (program) => [process.execPath, ...NODE_FLAGS, join(programs, `${program}.js`)],
    process: (kind) => [process.execPath, ...NODE_FLAGS, join(folder, "src/cli/main.js"), kind],
    cli: [process.execPath, join(folder, "src/cli/main.js")],
    agent: [
      ...[process.execPath, ...NODE_FLAGS, "--import", join(programs, "loop-delay.js")],
      ...[join(folder, "src/cli/main.js"), "agent"],
    ],
    async setAccount({ ca, token, namespace }) {
      await mkdir(account, { recursive: true });
      for (const [name, text] of Object.entries({ "ca.crt": ca, token, namespace })) {
        await writeFile(join(account, name), text, { mode: 0o600 });
      }
    },
  };
}

/** Pods have it at one place, which is not ours to write on this machine. A kubeconfig would cost 87 MB to read. */
async function usesAccount(file: string, folder: string): Promise<void> {
  const text = await readFile(file, "utf8");
  const changed = text.replace('"/var/run/secrets/kubernetes.io/serviceaccount"', JSON.stringify(folder));
  if (changed === text) throw new Error(`${file} names no folder of the service account`);
  await writeFile(file, changed);
}
