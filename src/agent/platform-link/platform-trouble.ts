import type { Attempt } from "../../api-client/client.ts";
import { type PathFinding, probePath } from "../../api-client/path-probe.ts";
import type { Clock } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { ConnectedReason } from "../../crds/conditions.ts";
import { printable } from "../../crds/printable.ts";

/** What keeps the agent from the platform, and what to mend. Never holds a credential. */
export interface Trouble {
  readonly reason: Exclude<ConnectedReason, "Connected">;
  readonly message: string;
}

export interface PlatformPath {
  readonly platformUrl: string;
  /** URL, with its credentials; undefined: direct. */
  readonly proxy: string | undefined;
}

/** A handshake through a proxy takes as long; what is slower counts as not answering. */
const PROBE_LIMIT_MS = 15_000;

/**
 * Codes of certificates that are right but for who signed them. Source: OpenSSL's verify errors, as Node names them.
 */
const UNTRUSTED: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** Why this attempt failed: from its answer, or by walking the way once more. */
export async function troubleOf(attempt: Attempt, path: PlatformPath, clock: Clock): Promise<Trouble> {
  const { status, code = "no code" } = attempt;
  if (status === 401) {
    const message = `the platform refuses the runtime key (${code}): mount a valid one; the file is read again when it changes`;
    return { reason: "KeyRefused", message };
  }
  if (status > 0)
    return { reason: "PlatformFailing", message: `the platform answers ${status} (${code}); it is tried again` };
  const base = new URL(path.platformUrl);
  const never = new AbortController().signal;
  const finding = await withDeadline(clock, PROBE_LIMIT_MS, never, (signal) => probePath(base, path.proxy, signal));
  return wordsFor(finding, base.host, path.proxy === undefined ? "" : new URL(path.proxy).host, code);
}

function wordsFor(finding: PathFinding, platform: string, proxy: string, code: string): Trouble {
  switch (finding.at) {
    case "proxy":
      return finding.problem === "unreachable"
        ? proxyAway(proxy, finding.code)
        : proxyRefuses(proxy, platform, finding.status);
    case "platform": {
      const fix = "check platform.url, DNS, and that the network lets the agent out";
      return { reason: "PlatformUnreachable", message: `${platform} does not answer (${finding.code}): ${fix}` };
    }
    case "certificate":
      return certificate(platform, finding.code, finding.issuer);
    case "nowhere":
      return { reason: "PlatformFailing", message: `${platform} accepts connections and does not answer (${code})` };
  }
}

function proxyAway(proxy: string, code: string): Trouble {
  const fix = "check proxy.https, and that the network lets the agent reach it";
  return { reason: "ProxyUnreachable", message: `the proxy ${proxy} does not answer (${code}): ${fix}` };
}

function proxyRefuses(proxy: string, platform: string, status: number): Trouble {
  const fix =
    status === 407
      ? `the proxy ${proxy} does not accept the user and password given (407): check the Secret that proxy.existingSecret names`
      : `the proxy ${proxy} answers ${status} when asked for ${platform}: let the agent through there`;
  return { reason: "ProxyRefused", message: fix };
}

function certificate(platform: string, code: string, issuer: string): Trouble {
  const by = `${platform} shows a certificate issued by "${printable(issuer, 200)}"`;
  return UNTRUSTED.has(code)
    ? { reason: "CertificateUntrusted", message: `${by}, which is not trusted (${code}): put that CA into trustedCA` }
    : {
        reason: "CertificateInvalid",
        message: `${by}, which is not valid here (${code}): check platform.url and the clock`,
      };
}
