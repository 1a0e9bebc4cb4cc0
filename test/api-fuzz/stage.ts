import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "../../src/api-client/client.ts";
import { type PlatformProcess, platformProcess } from "../platform/platform-child.ts";
import { beat, createSamples, type SampleObjects } from "../platform/sample-objects.ts";
import type { Who } from "./callers.ts";
import { signIn, worldOfUser } from "./people.ts";
import { type FuzzWorld, worldOf } from "./world.ts";

/** A platform for one caller: the writes of another caller would change the answers. */
export interface Stage {
  readonly folder: string;
  readonly platform: PlatformProcess;
  readonly credential: string;
  readonly world: FuzzWorld;
}

export async function stageFor(who: Who, stack: AsyncDisposableStack, signal: AbortSignal): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-fuzz-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const platform = await platformProcess({ folder, env: { AUTH_DEV_LOGIN: "true" } }, stack);
  await platform.program.start(signal);
  if (who === "user") {
    const credential = await signIn(platform.url, "me@example.com", signal);
    return { folder, platform, credential, world: await worldOfUser(platform.url, credential, signal) };
  }
  const adminKey = await platform.firstKey();
  const admin = createClient({ baseUrl: platform.url, credential: adminKey });
  stack.defer(() => admin.close());
  const samples = await createSamples(admin, platform.url, signal);
  const world = await worldOf(admin, samples, signal);
  keepBeating(platform.url, samples, stack, signal);
  const { token } = await admin.deploymentGroups.firstPartySession({ params: { id: samples.group } }, signal);
  const credential = {
    "workspace.admin": adminKey,
    "manager.runtime": samples.runtimeKey,
    "project.developer": samples.developerKey,
    "deployment-group.deployer": token,
  }[who];
  return { folder, platform, credential, world };
}

/** Sends heartbeats: without them the platform answers 503 to calls that need the manager. */
function keepBeating(
  baseUrl: string,
  { runtimeKey, manager }: SampleObjects,
  stack: AsyncDisposableStack,
  signal: AbortSignal,
): void {
  const runtime = createClient({ baseUrl, credential: runtimeKey });
  stack.defer(() => runtime.close());
  const heart = setInterval(() => void beat(runtime, manager, signal).catch(() => undefined), 30_000);
  stack.defer(() => clearInterval(heart));
}
