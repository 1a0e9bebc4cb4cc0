import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command } from "../../test/e2e/command.ts";
import { ROOT } from "./making.ts";
import { ARCHITECTURES, type Architecture, nodePackage, PINS_FILE, systemPins } from "./system-pins.ts";
import { aptFor } from "./system-tree.ts";

/** Writes what package-lock.json and Debian's mirror have now: apt checks Debian's signature, npm its own. */
export async function renewPins(say: (line: string) => void, signal: AbortSignal): Promise<void> {
  const { debian } = systemPins();
  const { version }: { version: string } = JSON.parse(
    await readFile(join(ROOT, "node_modules/node/package.json"), "utf8"),
  );
  const integrity: Partial<Record<Architecture, string>> = {};
  const found = new Map<string, { version: string; sha256: Partial<Record<Architecture, string>> }>();
  for (const architecture of ARCHITECTURES) {
    const name = `${nodePackage(architecture)}@${version}`;
    integrity[architecture] = (await command("npm", ["view", name, "dist.integrity"], {}, signal)).trim();
    const work = await mkdtemp(join(tmpdir(), "sallyport-pins-"));
    try {
      const apt = await aptFor(work, debian.suite, architecture);
      await command("apt-get", [...apt, "update"], {}, signal);
      for (const each of debian.packages) {
        const cwd = join(work, each.name);
        await mkdir(cwd);
        await command("apt-get", [...apt, "download", each.name], { cwd }, signal);
        const [file = ""] = await readdir(cwd);
        const as = (await command("dpkg-deb", ["-f", join(cwd, file), "Version"], {}, signal)).trim();
        const sum = createHash("sha256")
          .update(await readFile(join(cwd, file)))
          .digest("hex");
        const known = found.get(each.name) ?? { version: as, sha256: {} };
        if (known.version !== as)
          throw new Error(`${each.name} has different versions by architecture: try again later`);
        found.set(each.name, { ...known, sha256: { ...known.sha256, [architecture]: sum } });
        say(`${architecture}: ${each.name} ${as}`);
      }
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
  const packages = [...found].map(([name, each]) => ({ name, ...each }));
  const pins = { node: { version, integrity }, debian: { suite: debian.suite, packages } };
  await writeFile(PINS_FILE, `${JSON.stringify(pins, null, 2)}\n`);
  say(`${PINS_FILE}: commit it`);
}
