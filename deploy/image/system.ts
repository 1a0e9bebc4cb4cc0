import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Copies this process's Node.js, the libraries that it is linked to and the terms of both into an image that holds no
 * system, and says which packages they are from. Runs in the image to build in.
 *
 * @returns a line each: name, version, architecture. First Node.js itself; the libraries' where the system is Debian's
 * @throws Error when the terms of one of them are not in this image: an image without them may not be given away
 */
export function copySystem(image: string): string {
  copy(process.execPath, join(image, "app/node"));
  const libraries = output("ldd", process.execPath).match(/(?<=[\t ])\/\S+/g) ?? [];
  for (const library of libraries) copy(realpathSync(library), join(image, library));
  // Names in /etc/hosts before DNS: glibc without this file asks DNS first. Public certificate authorities are in Node.js.
  mkdirSync(join(image, "etc"), { recursive: true });
  writeFileSync(join(image, "etc/nsswitch.conf"), "hosts: files dns\n");
  const owners = new Set(libraries.flatMap((library) => ownerOf(library) ?? ownerOf(realpathSync(library)) ?? []));
  copyFirst(["/usr/local/LICENSE", "/usr/share/doc/nodejs/copyright"], join(image, "licenses/node"));
  for (const owner of owners) copyFirst([`/usr/share/doc/${owner}/copyright`], join(image, "licenses", owner));
  // biome-ignore lint/suspicious/noTemplateCurlyInString: fields of dpkg-query.
  const format = ["-W", "-f", "${Package} ${Version} ${Architecture}\n"];
  const packages = [...owners].sort().map((owner) => output("dpkg-query", ...format, owner));
  return [`node ${process.versions.node} ${process.arch}\n`, ...packages].join("");
}

function ownerOf(file: string): string | undefined {
  try {
    return output("dpkg-query", "-S", file).split(":")[0];
  } catch {
    return undefined;
  }
}

function copyFirst(candidates: readonly string[], to: string): void {
  const found = candidates.find((candidate) => existsSync(candidate));
  if (found === undefined) throw new Error(`no licence for ${to}: none of ${candidates.join(", ")} is in this image`);
  copy(found, to);
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function output(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

if (import.meta.main) {
  const [image = "", list = ""] = process.argv.slice(2);
  writeFileSync(list, copySystem(image));
}
