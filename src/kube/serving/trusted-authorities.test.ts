import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CertificateAuthority } from "../../../lab/cluster/certificates.ts";
import { readWhole } from "../../api-client/transport.ts";
import { undiciTransport } from "../../api-client/undici-transport.ts";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { TrustedAuthorities } from "./trusted-authorities.ts";

const before = getCACertificates("default");
const authorities = { old: new CertificateAuthority("Old Root"), new: new CertificateAuthority("New Root") };
const [OLD, NEW] = [authorities.old.certificate, authorities.new.certificate];
let folder: string;
let file: string;
let server: Server;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "authorities-"));
  file = join(folder, "ca.crt");
  server = createServer((_, response) => void response.end("well"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  setDefaultCACertificates(before);
  server.close();
  await rm(folder, { recursive: true });
});

function show(whose: keyof typeof authorities): void {
  const { certificate: cert, key } = authorities[whose].issue({ commonName: "platform", hosts: ["127.0.0.1"] });
  server.setSecureContext({ cert, key });
}

/** Node breaks the lines of what it was given otherwise than those of its own. */
function inOneLine(which: "default" | "bundled"): string[] {
  return getCACertificates(which).map((each) => each.replace(/\s/g, ""));
}

/** Over a new connection, made as those to the platform are. */
async function ask(): Promise<string> {
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const transport = undiciTransport("direct");
  try {
    const asked = { method: "GET", url, headers: {}, body: undefined };
    const { body } = await transport.send(asked, AbortSignal.timeout(60_000));
    return (await readWhole(body, 100)) ?? "too much";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "no code";
  } finally {
    await transport.close();
  }
}

test("an authority is trusted from its coming into the file to its going, and no bad file takes any away", async () => {
  const trusted = new TrustedAuthorities(file, { clock: new FakeClock(), log: silentLogger });
  show("old");
  expect(await ask()).toBe("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  await writeFile(file, OLD);
  await trusted.look();
  expect(await ask()).toBe("well");
  expect(inOneLine("default")).toEqual(expect.arrayContaining(inOneLine("bundled")));

  await writeFile(file, `# both, for the change\n${OLD}\n${NEW}`);
  await trusted.look();
  expect(await ask()).toBe("well");
  show("new");
  expect(await ask()).toBe("well");

  for (const bad of ["", "-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n"]) {
    await writeFile(file, bad);
    await expect(trusted.look()).rejects.toThrow();
    expect(await ask()).toBe("well");
  }
  await rm(file);
  await expect(trusted.look()).rejects.toThrow("ENOENT");
  expect(await ask()).toBe("well");

  await writeFile(file, NEW);
  await trusted.look();
  expect(await ask()).toBe("well");
  show("old");
  expect(await ask()).toBe("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
});
