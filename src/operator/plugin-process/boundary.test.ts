import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type ListenOptions } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { fullOnly } from "../../base/testing/full.ts";
import { BOUNDARIES } from "./boundary.ts";

// The code that runs here is past all that Node.js forbids: it has every module, and no permission model. What it does not reach, it does not
// reach because of the operating system.

const ENCLOSED = join(import.meta.dirname, "testing/enclosed-process.ts");
const NOBODY = 65_534;
const USERS = process.getuid?.() === 0 ? [{ user: "root" }, { user: "nobody", id: NOBODY }] : [{ user: "the user" }];

async function enclosed(id: number | undefined, ...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [ENCLOSED, ...args], {
    ...(id !== undefined && { uid: id, gid: id }),
    env: { TMPDIR: tmpdir(), PATH: process.env.PATH },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return said;
}

const code = (module: string): string => Buffer.from(module).toString("base64");

/** What the machine has to lose, all of it open to each user. */
async function machine() {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-machine-"));
  await chmod(folder, 0o777);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let connections = 0;
  const listen = async (options: ListenOptions): Promise<number> => {
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    server.listen(options);
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  };
  const socket = join(folder, "daemon.sock");
  const abstract = `sallyport-${process.pid}-${Math.random()}`;
  await listen({ path: socket, readableAll: true, writableAll: true });
  await listen({ path: `\0${abstract}` });
  const port = await listen({ port: 0, host: "127.0.0.1" });
  await writeFile(join(folder, "key"), "a key", { mode: 0o644 });
  return { folder, socket, abstract, port, connections: () => connections };
}

type Machine = Awaited<ReturnType<typeof machine>>;

const attack = ({ folder, socket, abstract, port }: Machine): string => `
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { readFileSync, readdirSync, writeFileSync, writeSync } from "node:fs";
import { createSocket } from "node:dgram";
const reach = (to) => new Promise((resolve, reject) => connect(to).on("connect", resolve).on("error", reject));
const tries = {
  socket: () => reach({ path: ${JSON.stringify(socket)} }),
  abstract: () => reach({ path: "\\0" + ${JSON.stringify(abstract)} }),
  tcp: () => reach({ port: ${port}, host: "127.0.0.1" }),
  listener: async () => { const server = createServer().listen(${JSON.stringify(join(folder, "listener.sock"))}); await once(server, "listening"); },
  datagram: () => new Promise((resolve, reject) => { createSocket("udp4").send("x", 53, "192.0.2.1", (error) => error ? reject(error) : resolve()); }),
  key: () => readFileSync(${JSON.stringify(join(folder, "key"))}),
  secrets: () => readFileSync("/etc/passwd"),
  write: () => writeFileSync(${JSON.stringify(join(folder, "written"))}, "x"),
  own: () => writeFileSync(process.argv[1], "x"),
  processes: () => { if (!readdirSync("/proc").includes("self")) throw new Error("none"); },
  signal: () => process.kill(${process.pid}, 0),
  shell: () => { const { error } = process.getBuiltinModule("child_process").spawnSync("/bin/sh", ["-c", "true"]); if (error) throw error; },
};
const passed = [];
for (const [name, attempt] of Object.entries(tries)) try { await attempt(); passed.push(name); } catch {}
writeSync(3, JSON.stringify({ type: "done", result: { passed, user: process.getuid(), env: Object.keys(process.env).filter((each) => each !== "PWD"), root: readdirSync("/") } }) + "\\n");
process.exit();
`;

function commandLines(): readonly string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, "utf8")] : [];
    } catch {
      return [];
    }
  });
}

const KERNEL_SAYS = "namespaces or the program for it are not to be had here";

for (const { name } of BOUNDARIES) {
  for (const { user, id } of USERS) {
    const has = (await enclosed(id, name, "try")) === "true";
    if (!has) process.stderr.write(`SKIPPED: a plugin within ${name} as ${user}: ${KERNEL_SAYS}\n`);

    describe.skipIf(!has)(`${name} as ${user}`, () => {
      test("code that is past all that Node.js forbids reaches no socket, file, process or network of the machine", async () => {
        const world = await machine();
        const { outcome } = JSON.parse(await enclosed(id, name, code(attack(world))));
        expect(outcome).toMatchObject({ type: "done", result: { passed: [], env: [], user: NOBODY } });
        const visible = ["etc", "run", "var", "proc", "dev", "sys"].filter((each) =>
          outcome.result.root.includes(each),
        );
        expect(visible).toEqual([]);
        expect([world.connections(), existsSync(join(world.folder, "listener.sock"))]).toEqual([0, false]);
      });

      // As the user whom a machine gives least.
      const alsoRuns = id === USERS.at(-1)?.id ? test : fullOnly;

      alsoRuns("an operation runs in it as without it", async () => {
        const module = `import { OperationError } from "@sallyport/plugin"; import { createHash } from "node:crypto";
          export default { act: { async run({ client }) {
            const found = await client.get({ group: "", version: "v1", plural: "pods" }, { namespace: "shop", name: "web" });
            console.log("said"); return { found, hash: createHash("sha256").update("x").digest("hex").slice(0, 4), memory: process.memoryUsage().heapUsed > 0,
              no: new OperationError("x").name }; } } };`;
        expect(JSON.parse(await enclosed(id, name, code(module), "child"))).toMatchObject({
          outcome: {
            type: "done",
            result: { found: { some: "object" }, hash: "2d71", memory: true, no: "OperationError" },
          },
          noise: { bytes: 5, head: "said\n" },
        });
      });

      fullOnly("a plugin that fills its heap in it is ended", async () => {
        const module = "export default { act: { run() { const all = []; for (;;) all.push({ n: all.length }); } } };";
        const { outcome } = JSON.parse(await enclosed(id, name, code(module), "child"));
        expect(outcome.failed).toMatch(/ended without an answer|MiB of memory/);
      });

      alsoRuns("a plugin that fills its memory in it is ended, with all that was started for it", async () => {
        const run = "const all = []; for (;;) { all.push(Buffer.alloc(8 << 20, 1)); await clock.sleep(20); }";
        const module = `export default { act: { async run({ clock }) { ${run} } } };`;
        const { outcome, file } = JSON.parse(await enclosed(id, name, code(module), "child"));
        expect(outcome.failed).toMatch(/MiB of memory/);
        await expect.poll(() => commandLines().filter((line) => line.includes(dirname(file)))).toEqual([]);
      });
    });
  }
}

test("without a boundary the same code reaches all of it: what is tried would work", async () => {
  const world = await machine();
  const { outcome } = JSON.parse(await enclosed(undefined, "none", code(attack(world))));
  expect(outcome.result.passed).toEqual(
    expect.arrayContaining(["socket", "tcp", "listener", "key", "write", "own", "signal", "shell"]),
  );
  expect(world.connections()).toBeGreaterThanOrEqual(2);
});
