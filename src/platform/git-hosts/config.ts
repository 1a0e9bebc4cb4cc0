import { createPrivateKey, type KeyObject } from "node:crypto";
import { isPlainLoopback } from "../../base/loopback.ts";
import type { SettingRow, SettingTable } from "../../base/settings.ts";
import type { GitHubAppConfig } from "./github-app.ts";

/** Included in `PLATFORM_SETTINGS`, the only table of the platform's settings. */
export const GIT_HOST_SETTINGS = {
  githubAppId: {
    env: "SALLYPORT_PLATFORM_GITHUB_APP_ID",
    default: "",
    doc: "Id of our GitHub app, from whose installations users choose repositories. Empty: no git host.",
  },
  githubAppKey: {
    env: "SALLYPORT_PLATFORM_GITHUB_APP_KEY",
    default: "",
    doc: "Private key of that app, as the PEM that GitHub gives out; line breaks may be written as \\n.",
  },
  githubApiUrl: {
    env: "SALLYPORT_PLATFORM_GITHUB_API_URL",
    default: "https://api.github.com",
    doc: "Address of GitHub's API; of a GitHub Enterprise server https://HOST/api/v3.",
  },
} as const satisfies SettingTable;

/** @param fail records what a setting must be. */
export function readGitHost(
  text: (setting: SettingRow) => string,
  fail: (setting: SettingRow, expected: string) => void,
): GitHubAppConfig | undefined {
  const { githubAppId, githubAppKey, githubApiUrl } = GIT_HOST_SETTINGS;
  const [appId, pem, apiUrl] = [text(githubAppId), text(githubAppKey), text(githubApiUrl).replace(/\/+$/, "")];
  if (appId === "" && pem === "") return undefined;
  if (!/^[A-Za-z0-9.]{1,64}$/.test(appId)) fail(githubAppId, "the app's id, when there is a key");
  // An attacker on the network could change the answers of an http address and read the app's tokens.
  const safe = URL.canParse(apiUrl) && (apiUrl.startsWith("https://") || isPlainLoopback(apiUrl));
  if (!safe) fail(githubApiUrl, "an https URL");
  const key = rsaKey(pem.replaceAll("\\n", "\n"));
  if (key === undefined) fail(githubAppKey, "a private RSA key as PEM, when there is an app id");
  return key === undefined ? undefined : { appId, key, apiUrl };
}

function rsaKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === "rsa" ? key : undefined;
  } catch {
    return undefined;
  }
}
