import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { installRecipe } from "../../../lab/cluster/go-build.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import { ensureRecipe } from "../../../lab/cluster/programs.ts";

/** An S3 server on a folder. It checks every signature, which simulators for tests do not. */
const GATEWAY = {
  name: "versitygw",
  module: "github.com/versity/versitygw",
  version: "v1.8.0",
  command: "cmd/versitygw",
} as const;

export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  stop(): Promise<void>;
}

/** Built with Go at the first call on a machine. */
export async function startS3Server(signal: AbortSignal): Promise<S3Server> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const program = await ensureRecipe(installRecipe(GATEWAY, "about 10 minutes on 2 cores, once"), { say }, signal);
  const folder = await mkdtemp(join(tmpdir(), "sallyport-s3-"));
  const bucket = "objects";
  const buckets = join(folder, "buckets");
  await mkdir(join(buckets, bucket), { recursive: true });
  await mkdir(join(folder, "sidecar"));
  const [accessKeyId, secretAccessKey] = ["test-access-key", "test-secret-access-key"];
  const port = await freePort();
  const options = ["--port", `127.0.0.1:${port}`, "--access", accessKeyId, "--secret", secretAccessKey, "--quiet"];
  const child = spawn(
    join(program, GATEWAY.name),
    [...options, "posix", "--sidecar", join(folder, "sidecar"), buckets],
    {
      stdio: "ignore",
      env: {},
    },
  );
  const ended = once(child, "exit");
  const endpoint = `http://127.0.0.1:${port}`;
  await answers(endpoint, signal);
  return {
    endpoint,
    bucket,
    accessKeyId,
    secretAccessKey,
    async stop() {
      child.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function answers(endpoint: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await fetch(endpoint, { signal });
      return;
    } catch {
      await delay(50, undefined, { signal });
    }
  }
}
