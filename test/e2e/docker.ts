import { command } from "./command.ts";
import { type Docker, serverVersion } from "./daemon.ts";
import { startOwnDaemon } from "./own-daemon.ts";

/**
 * The daemon that answers. Else our own: Debian's docker.io, in a network namespace that ends with it.
 *
 * @throws Unavailable when none answers and none may be started here
 */
export async function findDocker(say: (line: string) => void, signal: AbortSignal): Promise<Docker> {
  const version = await serverVersion({}, signal);
  if (version === undefined) return startOwnDaemon(say, signal);
  return {
    description: `docker ${version}, which answers here`,
    env: {},
    publishedAt: { address: "127.0.0.1" },
    run: (args, options, each) => command("docker", args, options, each),
    stop: async () => undefined,
  };
}
