import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { soon, useCast } from "./cast.ts";
import { command } from "./command.ts";

const cast = useCast();

/** As strict as Kubernetes can be: a read-only file system and no rights of root. */
const STRICT = ["--rm", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none"];

function docker(...args: readonly string[]): Promise<string> {
  return command("docker", args, { env: cast().scene.docker }, soon());
}

function inside(program: string): Promise<string> {
  return docker("run", ...STRICT, "--entrypoint", "/app/node", cast().scene.image.name, "-e", program);
}

test("starts in under a second, read-only and without any capability", async () => {
  expect(await docker("run", ...STRICT, cast().scene.image.name, "version")).toMatch(/^sallyport \d/);
  // Measured inside the container, because Docker's own start does not count. The best time counts: other programs run
  // too.
  const times = await inside(`
    const { execFileSync } = require("node:child_process");
    for (let run = 0; run < 10; run += 1) {
      const startedAt = performance.now();
      execFileSync("/app/node", ["/app/main.js", "version"]);
      console.log(Math.round(performance.now() - startedAt));
    }`);
  const best = Math.min(...times.trim().split("\n").map(Number));
  console.log(`start to end of "version": ${best} ms at best`);
  expect(best).toBeLessThan(1_000);
});

test("runs as a number that is not root, on any system's word for it", async () => {
  expect((await inside("console.log(process.getuid(), process.getgid())")).trim()).toBe("65532 65532");
  const asOpenShift = ["--user", "1000730000:0", "--entrypoint", "/app/node"];
  const args = ["run", ...STRICT, ...asOpenShift, cast().scene.image.name, "/app/main.js", "version"];
  expect(await docker(...args)).toMatch(/^sallyport \d/);
});

test("holds no program but Node.js, and nothing that gives more rights", async () => {
  const program = `
    const fs = require("fs");
    const walk = (path) => {
      if (["/proc", "/sys", "/dev"].includes(path)) return;
      const stat = fs.lstatSync(path);
      if (stat.isDirectory()) for (const name of fs.readdirSync(path)) walk((path === "/" ? "" : path) + "/" + name);
      else if (stat.isFile()) {
        if (stat.mode & 0o6000) console.log("setuid " + path);
        const start = Buffer.alloc(4);
        const file = fs.openSync(path);
        fs.readSync(file, start);
        fs.closeSync(file);
        if (start.toString("latin1") === "\\x7fELF" && !/\\.so(\\.\\d+)*$/.test(path)) console.log(path);
      }
    };
    walk("/");`;
  expect((await inside(program)).trim().split("\n")).toEqual(["/app/node"]);
});

test("serves the platform from an image of its own", async () => {
  const said = await docker("run", ...STRICT, cast().scene.platformImage.name, "platform", "openapi");
  expect(JSON.parse(said)).toMatchObject({ openapi: expect.stringMatching(/^3\.1/) });
  expect(await inside(`console.log(require("fs").existsSync("/app/src/platform"))`)).toBe("false\n");
});

test("holds the terms of Node.js and of each library of the system", async () => {
  const { components } = await papers("cluster", "sbom.cdx.json");
  const system = components.filter(({ purl }: { purl: string }) => !purl.startsWith("pkg:npm/"));
  const names = system.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(["node", "libc6"]));
  const held = await inside(`console.log(require("fs").readdirSync("/licenses").join("\\n"))`);
  expect(held.trim().split("\n").sort()).toEqual(names.sort());
});

test.each(["cluster", "platform"] as const)("the image of the %s has its papers beside it", async (part) => {
  const { scene } = cast();
  const image = part === "cluster" ? scene.image : scene.platformImage;
  expect((await papers(part, "sbom.cdx.json")).components.length).toBeGreaterThan(40);
  const [{ digest }] = (await papers(part, "provenance.json")).subject;
  expect(`sha256:${digest.sha256}`).toBe((await docker("image", "inspect", "--format", "{{.Id}}", image.name)).trim());
});

async function papers(part: string, name: string) {
  return JSON.parse(await readFile(join(cast().scene.folder, "papers", part, name), "utf8"));
}
