import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { ProgramsError } from "../../../lab/cluster/go-build.ts";
import { pluginLayerRecipe } from "../../../lab/cluster/plugin-layer.ts";
import { freePort } from "../../../lab/cluster/ports.ts";
import { ensureRecipe } from "../../../lab/cluster/programs.ts";
import { craneProgram } from "../../../scripts/release/push.ts";

export interface ImagePrograms {
  readonly pluginLayer: string;
  readonly crane: string;
}

/** Undefined, after a loud line, where they cannot be built. */
export async function imagePrograms(signal: AbortSignal): Promise<ImagePrograms | undefined> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  try {
    const layer = await ensureRecipe(await pluginLayerRecipe(), { say }, signal);
    return { pluginLayer: join(layer, "plugin-layer"), crane: await craneProgram(say, signal) };
  } catch (error) {
    if (!(error instanceof ProgramsError)) throw error;
    say(`SKIPPED: operators' images are not made by the real program: ${error.message}`);
    return undefined;
  }
}

export interface Registry {
  /** Host and port; asks for no credentials. */
  readonly open: string;
  /** The same registry; asks for {@link Registry.user} and {@link Registry.password}. */
  readonly guarded: string;
  readonly user: string;
  readonly password: string;
  /** crane, which reads the registry as a container runtime would. @returns its standard output. */
  crane(...args: readonly string[]): Promise<Buffer>;
  stop(): Promise<void>;
}

const run = promisify(execFile);

/** A real registry, and before it a door that asks who comes, as registries do. */
export async function startRegistry({ crane }: ImagePrograms): Promise<Registry> {
  const port = await freePort();
  const open = `127.0.0.1:${port}`;
  const child = spawn(crane, ["registry", "serve", "--address", open], { stdio: "ignore", env: {} });
  const ended = once(child, "exit");
  await answers(`http://${open}/v2/`, child);
  const [user, password] = ["robot", "test-registry-password"];
  const door = await openDoor(port, `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`);
  return {
    open,
    guarded: `127.0.0.1:${(door.address() as AddressInfo).port}`,
    user,
    password,
    crane: async (...args) => {
      const options = { env: {}, encoding: "buffer", maxBuffer: 64 * 1024 ** 2 } as const;
      return (await run(crane, args, options)).stdout;
    },
    async stop() {
      door.closeAllConnections();
      door.close();
      child.kill();
      await ended;
    },
  };
}

async function openDoor(port: number, authorization: string) {
  const door = createServer((request, response) => {
    if (request.headers.authorization !== authorization) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="registry"' });
      response.end();
      return;
    }
    const { method, url, headers } = request;
    const inner = httpRequest({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    inner.on("error", () => response.destroy());
    request.pipe(inner);
  });
  await new Promise<void>((resolve) => void door.listen(0, "127.0.0.1", resolve));
  return door;
}

async function answers(url: string, child: { readonly exitCode: number | null }): Promise<void> {
  for (let tries = 0; tries < 600 && child.exitCode === null; tries += 1) {
    try {
      await fetch(url);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error("the registry did not start");
}
