import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { WrongKeyError } from "../../agent/platform-link/manager-identity.ts";
import { ApiError } from "../../api-client/client.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { type Check, installationChecks, runChecks, whyNoPlatform } from "./installation-check.ts";

const never = new AbortController().signal;
const servers: { close(): void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function network(code: string): ApiError {
  const cause = new Error("fetch failed", { cause: Object.assign(new Error(code), { code }) });
  return new ApiError("NETWORK_ERROR", "the platform could not be reached", { status: 0, retryable: true, cause });
}

const refused = new ApiError("INVALID_API_KEY", "no", { status: 401, retryable: false });
const strange = new ApiError("UNEXPECTED_RESPONSE", "407", { status: 407, retryable: false });

test.each([
  ["an unknown issuer", network("SELF_SIGNED_CERT_IN_CHAIN"), undefined, "trustedCA.configMap"],
  ["an unknown name", network("ENOTFOUND"), undefined, "networkPolicy.dns"],
  ["a closed port", network("ECONNREFUSED"), undefined, "whether a proxy is needed"],
  ["a closed port behind a proxy", network("ECONNREFUSED"), "proxy.corp:3128", "through the proxy proxy.corp:3128"],
  ["a proxy that wants a password", strange, "proxy.corp:3128", "proxy.existingSecret"],
  ["a refused key", refused, undefined, "runtimeKey.existingSecret"],
  ["a key of another kind", new WrongKeyError("the runtime key is not a manager's"), undefined, "not a manager's"],
])("%s is told with what to do about it", (_case, error, proxy, words) => {
  expect(whyNoPlatform(error, "https://platform.example.com", proxy)).toContain(words);
});

test("what is not well at first is asked again, what was well is not", async () => {
  const clock = new FakeClock();
  const asked = { slow: 0, fast: 0 };
  const lines: string[] = [];
  const check = (name: "slow" | "fast", from: number): Check => ({
    name,
    look: async () => ({ ok: ++asked[name] >= from, words: `asked ${asked[name]}` }),
  });
  const done = runChecks(
    [check("slow", 3), check("fast", 1)],
    { clock, waitMs: 60_000, write: (line) => void lines.push(line) },
    never,
  );
  while (asked.slow < 3) await clock.advance(2_000);
  expect(await done).toBe(true);
  expect(lines).toEqual(["ok    slow  asked 3", "ok    fast  asked 1"]);
});

test("one thing that stays wrong fails the whole", async () => {
  const lines: string[] = [];
  const checks = [{ name: "platform", look: async () => ({ ok: false, words: "away" }) }];
  const options = { clock: new FakeClock(), waitMs: 0, write: (line: string) => void lines.push(line) };
  expect(await runChecks(checks, options, never)).toBe(false);
  expect(lines).toEqual(["FAIL  platform  away"]);
});

test("a process that is not ready is shown with the checks that fail", async () => {
  const url = await serve((_request, response) =>
    response.writeHead(500).end("[+]ping ok\n[-]caches failed: not synced: accessgrants\nreadyz check failed\n"),
  );
  const env = { SALLYPORT_PLATFORM_URL: "https://127.0.0.1:9" };
  const checks = await installationChecks(env, [["agent", `${url}/readyz`]]);
  const finding = await checks.find(({ name }) => name === "agent")?.look(never);
  expect(finding).toMatchObject({ ok: false, words: expect.stringContaining("not synced: accessgrants") });
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
