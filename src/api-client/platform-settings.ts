import { isLoopbackHost } from "../base/loopback.ts";
import { duration, nonEmpty, type SettingsOf } from "../base/settings.ts";

/** How a process of the customer's cluster reaches the platform. */
export interface PlatformSettings {
  readonly platformUrl: string;
  readonly runtimeKeyFile: string;
  readonly runtimeKeyOverlapMs: number;
}

/** The same three settings for agent and tunnel. */
export const PLATFORM_SETTINGS: SettingsOf<PlatformSettings> = {
  platformUrl: {
    env: "SALLYPORT_PLATFORM_URL",
    default: undefined,
    doc: "The vendor's platform. https, or http to loopback only: the runtime key travels on it.",
    parse: httpsUrl,
  },
  runtimeKeyFile: {
    env: "SALLYPORT_RUNTIME_KEY_FILE",
    default: "/var/run/sallyport/runtime-key/key",
    doc: "File with the runtime key, in a mounted directory. Re-read when it changes, so that rotation needs no restart.",
    parse: nonEmpty,
  },
  runtimeKeyOverlapMs: {
    env: "SALLYPORT_RUNTIME_KEY_OVERLAP",
    default: "15m",
    doc: "How long the key before the last change is still tried when the new one is refused.",
    parse: duration(0, 86_400_000),
  },
};

export function httpsUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopbackHost(url.hostname)))) {
    throw new Error("an https URL (http only to loopback)");
  }
  if (url.username !== "" || url.password !== "") throw new Error("a URL without user and password");
  return url.href;
}
