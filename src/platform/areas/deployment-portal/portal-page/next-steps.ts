import type { DeploymentInfo, Readiness } from "../../../../contract/deployment-portal/deployment-info.ts";

type Check = Readiness["checks"][number];

/** Something in the way of a setup, and who does what about it. */
export interface Blocker {
  readonly isFatal: boolean;
  readonly what: string;
  readonly next: string;
}

const VENDOR_RELEASES = "Your vendor has to bring a release to production. Nothing is to be done here until then.";
const NEXT: Readonly<Record<Check["code"], Readonly<Partial<Record<Check["status"], string>>>>> = {
  "release-available": { failed: VENDOR_RELEASES },
  "platform-allowed": {
    failed: "Ask your vendor for a link to a platform that you have.",
    unknown: VENDOR_RELEASES,
  },
  "manager-online": {
    failed: "Set up the manager first: your vendor has a link of its own for it, or its runtime key.",
    warning:
      "Is its agent running, and does it reach the platform? In its cluster: kubectl -n sallyport-system get pods; in one of its pods: sallyport check.",
  },
  "packages-ready": {
    failed: "Wait for a build that is under way. One that has failed or was never begun is your vendor's to make.",
  },
  "group-capacity": { failed: "Delete a deployment that you do not need, or ask your vendor for a higher limit." },
  "token-valid-24h": { warning: "Finish today, or ask your vendor for a new link." },
};

/** All that is in the way now, the worst first, from the platform's own checks. Pure. */
export function blockersOf({ readiness, setupConfig }: Pick<DeploymentInfo, "readiness" | "setupConfig">): Blocker[] {
  const checks = (readiness?.checks ?? []).flatMap(({ code, status, message }) => {
    const next = NEXT[code][status];
    return status === "passed" || next === undefined ? [] : [{ isFatal: status === "failed", what: message, next }];
  });
  const asked = (setupConfig?.inputValues ?? []).filter(
    ({ required, provided, providedBy }) => required && !provided && providedBy.includes("deployer"),
  );
  const inputs = asked.map(({ id, label }) => ({
    isFatal: false,
    what: `${label === "" ? id : label} is yours to give`,
    next: `Give it as inputValues.${id} when you create the deployment.`,
  }));
  return [...checks, ...inputs].toSorted((one, other) => Number(other.isFatal) - Number(one.isFatal));
}
