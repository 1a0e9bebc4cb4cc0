import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isRecord } from "../../../base/is-record.ts";
import type { Environment } from "../../../base/settings.ts";
import { DEBUG_MODES, type DebugMode } from "../../../contract/debug-sessions/debug-sessions.ts";
import type { SessionKey } from "../../../debug-link/session-key.ts";
import { FriendlyError, UsageError } from "../../kernel/command.ts";
import { profilesFile, readPrivately, writePrivately } from "../profiles.ts";

/** What an engineer asks for, as it stands in the plan and again in the session. */
export interface Wanted {
  readonly deploymentId: string;
  readonly namespace: string;
  readonly mode: DebugMode;
  readonly minutes: number;
  readonly reason: string;
  readonly ports?: readonly number[];
  readonly selector?: string;
}

/** What is kept on this machine of a request or a session, so that a later command can go on with it. */
export interface Kept extends Wanted {
  /** The key never goes anywhere else. */
  readonly key: SessionKey;
  /** Of the tunnel that the session first met. */
  readonly tunnelKey?: string;
}

const ID = /^(ar|dbg)_[0-9A-Za-z]{28}$/;

/** @throws UsageError: the id is a part of a file's name */
export function requireId(kind: "ar" | "dbg", id: string | undefined): string {
  if (id === undefined || !ID.test(id) || !id.startsWith(kind))
    throw new UsageError(`an id such as ${kind}_… is wanted`);
  return id;
}

/** Beside the profiles, which hold secrets as well. */
export function debugFolder(env: Environment): string {
  return join(dirname(profilesFile(env)), "debug");
}

function fileOf(env: Environment, id: string): string {
  return join(debugFolder(env), `${id}.json`);
}

export async function keep(env: Environment, id: string, kept: Kept): Promise<void> {
  await writePrivately(fileOf(env, id), `${JSON.stringify(kept, undefined, 2)}\n`);
}

export async function forget(env: Environment, id: string): Promise<void> {
  await rm(fileOf(env, id), { force: true });
}

/** @throws FriendlyError when another machine or user asked, or the session has ended */
export async function kept(env: Environment, id: string): Promise<Kept> {
  const file = fileOf(env, id);
  let text: string;
  try {
    text = await readPrivately(file);
  } catch (error) {
    if (error instanceof FriendlyError) throw error;
    throw new FriendlyError(
      `the key of ${id} is not on this machine: it was asked for elsewhere, or is over or in use (sallyport debug list)`,
      {
        cause: error,
      },
    );
  }
  const found = readKept(text);
  // The text is not quoted: it holds the key.
  if (found === undefined) throw new FriendlyError(`${file} is damaged: remove it and ask again`);
  return found;
}

function readKept(text: string): Kept | undefined {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(content) || !isRecord(content.key)) return undefined;
  const { deploymentId, namespace, mode, minutes, reason, ports, selector, tunnelKey } = content;
  const { key, certificate, pin } = content.key;
  const known = DEBUG_MODES.find((each) => each === mode);
  const texts = [deploymentId, namespace, reason, key, certificate, pin];
  if (known === undefined || typeof minutes !== "number" || !texts.every((one) => typeof one === "string")) {
    return undefined;
  }
  return {
    ...{
      deploymentId: String(deploymentId),
      namespace: String(namespace),
      mode: known,
      minutes,
      reason: String(reason),
    },
    ...(Array.isArray(ports) && { ports: ports.map(Number) }),
    ...(typeof selector === "string" && { selector }),
    ...(typeof tunnelKey === "string" && { tunnelKey }),
    key: { key: String(key), certificate: String(certificate), pin: String(pin) },
  };
}
