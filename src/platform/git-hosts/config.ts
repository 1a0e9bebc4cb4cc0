import { createPrivateKey, type KeyObject } from "node:crypto";
import { isLoopback } from "../identity/oauth/client.ts";
import type { GitHubAppConfig } from "./github-app.ts";

/** Part of the platform's one table of settings. */
export const GIT_HOST_SETTINGS = {
  githubAppId: {
    variable: "SALLYPORT_PLATFORM_GITHUB_APP_ID",
    fallback: "",
    help: "Id of our GitHub app, from whose installations users choose repositories. Empty: no git host.",
  },
  githubAppKey: {
    variable: "SALLYPORT_PLATFORM_GITHUB_APP_KEY",
    fallback: "",
    help: "Private key of that app, as the PEM that GitHub gives out; line breaks may be written as \\n.",
    secret: true,
  },
  githubApiUrl: {
    variable: "SALLYPORT_PLATFORM_GITHUB_API_URL",
    fallback: "https://api.github.com",
    help: "Address of GitHub's API; of a GitHub Enterprise server https://HOST/api/v3.",
  },
} as const;

type Setting = (typeof GIT_HOST_SETTINGS)[keyof typeof GIT_HOST_SETTINGS];

/** @param fail notes what a setting must be. */
export function readGitHost(
  text: (setting: Setting) => string,
  fail: (setting: Setting, expected: string) => void,
): GitHubAppConfig | undefined {
  const { githubAppId, githubAppKey, githubApiUrl } = GIT_HOST_SETTINGS;
  const [appId, pem, apiUrl] = [text(githubAppId), text(githubAppKey), text(githubApiUrl).replace(/\/+$/, "")];
  if (appId === "" && pem === "") return undefined;
  if (!/^[A-Za-z0-9.]{1,64}$/.test(appId)) fail(githubAppId, "the app's id, when there is a key");
  // A man in the middle of an http address could choose what users see, and read the app's tokens.
  const safe = URL.canParse(apiUrl) && (apiUrl.startsWith("https://") || isLoopback(apiUrl));
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
