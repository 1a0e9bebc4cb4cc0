import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
/** What a socket can be opened with, of Node and of the packages. */
const SOCKETS = /^(node:)?(net|tls|http|https|http2|dgram|dns)$|^(undici|ws|pg|fastify)(\/|$)/;

/** Files of ours that `entry` reaches, and which of them import something that opens sockets. */
function reachedFrom(entry: string): { readonly files: ReadonlySet<string>; readonly sockets: Set<string> } {
  const [files, sockets, open] = [new Set<string>(), new Set<string>(), [join(ROOT, entry)]];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    const name = relative(ROOT, file);
    if (files.has(name)) continue;
    files.add(name);
    const text = readFileSync(file, "utf8");
    if (text.matchAll(/\bgetBuiltinModule\(["']([^"']+)/g).some(([, wanted = ""]) => SOCKETS.test(wanted)))
      sockets.add(name);
    for (const [, kind, wanted = ""] of text.matchAll(
      /^(import type|import|export|\}) (?:.*?from )?["']([^"']+)["'];$/gm,
    )) {
      if (wanted.startsWith(".")) open.push(join(dirname(file), wanted));
      else if (SOCKETS.test(wanted) && kind !== "import type") sockets.add(name);
    }
  }
  return { files, sockets };
}

test("the operator reaches no code that knows the platform, and opens sockets only in the Kubernetes runtime", () => {
  const { files, sockets } = reachedFrom("src/operator/operator.ts");
  expect(files.size).toBeGreaterThan(80);
  expect([...files].filter((file) => /^src\/(api-client|contract|agent|platform|cli)\//.test(file))).toEqual([]);
  expect([...sockets].filter((file) => !file.startsWith("src/kube/"))).toEqual([]);
  expect(sockets).toContain("src/kube/client/sockets.ts");
});

test("the agent opens sockets only in the Kubernetes runtime and in the platform's client", () => {
  const { sockets } = reachedFrom("src/agent/agent.ts");
  // node:tls also has the list of trusted authorities: to set it opens no socket.
  sockets.delete("src/agent/platform-link/trusted-authorities.ts");
  expect([...sockets].filter((file) => !/^src\/(kube|api-client)\//.test(file))).toEqual([]);
  expect(sockets).toContain("src/api-client/undici-transport.ts");
  expect(sockets).toContain("src/api-client/node-transport.ts");
});
