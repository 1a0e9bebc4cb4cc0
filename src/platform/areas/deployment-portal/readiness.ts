import type { CHECK_CODES, Readiness } from "../../../contract/deployment-portal/deployment-info.ts";
import type { Unready } from "./packages.ts";

type Check = { readonly status: Readiness["checks"][number]["status"]; readonly message: string };
type Code = (typeof CHECK_CODES)[number];

/** The facts that the checks use. */
export interface Facts {
  readonly hasRelease: boolean;
  /** Platforms that the token allows, and those of them that the release supports; narrowed to the one asked for. */
  readonly allowed: readonly string[];
  readonly served: readonly string[];
  /** The managers of the supported platforms: whether each has sent a recent heartbeat. */
  readonly managers: readonly { readonly heard: boolean; readonly hasUrl: boolean }[];
  readonly unready: readonly Unready[];
  /** Package types that the project has enabled. */
  readonly enabled: readonly string[];
  /** Deployments that the group may still create; undefined for a deployment's token, which creates none. */
  readonly placesLeft: number | undefined;
  readonly tokenExpiresAt: Date | null;
}

const SOON_MS = 24 * 3600 * 1000;

/** Whether a setup with the link would succeed now. Pure. */
export function readiness(facts: Facts, now: Date): Readiness {
  const checks: Partial<Record<Code, Check>> = {
    "release-available": facts.hasRelease
      ? passed("there is a release to set up")
      : failed("the project has no release in production"),
    "platform-allowed": platformCheck(facts),
    "manager-online": managerCheck(facts),
    "packages-ready": packagesCheck(facts),
    ...(facts.placesLeft !== undefined && {
      "group-capacity":
        facts.placesLeft > 0 ? passed("the group has room") : failed("the group holds as many deployments as it may"),
    }),
    "token-valid-24h":
      facts.tokenExpiresAt !== null && facts.tokenExpiresAt.getTime() - now.getTime() < SOON_MS
        ? { status: "warning", message: "the link ends within a day" }
        : passed("the link stays valid"),
  };
  const checkedAt = now.toISOString();
  const all = Object.entries(checks).map(([code, check]) => ({ code: code as Code, ...check, checkedAt }));
  const any = (status: Check["status"]): boolean => all.some((check) => check.status === status);
  return { status: any("failed") ? "notReady" : any("unknown") ? "unknown" : "ready", checks: all };
}

function passed(message: string): Check {
  return { status: "passed", message };
}

function failed(message: string): Check {
  return { status: "failed", message };
}

function platformCheck({ hasRelease, allowed, served }: Facts): Check {
  if (allowed.length === 0) return failed("the link does not allow the platform");
  if (!hasRelease) return { status: "unknown", message: "there is no release that would say" };
  return served.length > 0
    ? passed(`the release serves ${served.join(", ")}`)
    : failed("the release has nothing for the platform");
}

function managerCheck({ managers }: Facts): Check {
  if (managers.length === 0) return failed("no manager serves the platform");
  if (!managers.some(({ hasUrl }) => hasUrl)) return failed("the manager has not reported its address");
  return managers.some(({ heard, hasUrl }) => heard && hasUrl)
    ? passed("the manager is online")
    : { status: "warning", message: "the manager has not been heard of lately" };
}

function packagesCheck({ unready, enabled }: Facts): Check {
  if (unready.length === 0) return passed("what the setup needs is built");
  const words = unready.map(({ type, status, why }) => `${type} is ${status ?? "not built"}${why ? ` (${why})` : ""}`);
  const switchedOff = unready.some(({ type }) => enabled.includes(type))
    ? ""
    : "; the project has switched on none of these packages: set its packagesConfig, then rebuild";
  return failed(`${words.join(", ")}${switchedOff}`);
}
