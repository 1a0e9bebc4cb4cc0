import { DEBUG_MODES } from "../../../src/contract/debug-sessions/debug-sessions.ts";
import {
  type Branch,
  branch,
  count,
  DURATION,
  flag,
  leaf,
  list,
  MEMORY,
  MEMORY_OR_DEFAULT,
  NAME_OR_DEFAULT,
  text,
  words,
} from "./chart-value.ts";

const MODES = {
  logs: [true, "`kubectl logs`, and the lists of pods and workloads that it needs."],
  read: [true, "`kubectl get`, `describe` and `events` of workloads, Services, claims and the like; no Secret."],
  exec: [
    false,
    "`kubectl exec` and `cp`. With it an engineer has what the container has: its environment, its mounted Secrets.",
  ],
  "port-forward": [false, "`kubectl port-forward` to pods."],
} as const satisfies Readonly<Record<(typeof DEBUG_MODES)[number], readonly [boolean, string]>>;

/** Whether and how engineers of the vendor may look into the cluster with kubectl. */
export const DEBUG_VALUES: Branch = branch(
  "Debug sessions: an engineer of the vendor uses kubectl in one opened namespace, after you approved it, until the time that you gave (docs/debug-sessions.md).",
  {
    enabled: flag(
      false,
      "Render the tunnel, its namespace `sallyport-debug` and its rights. Off: no session can be opened, and the vendor is told so. Needs `lending.mode: operator` and `rbac.scope: cluster`.",
    ),
    createNamespace: flag(true, "Make the namespace `sallyport-debug`. It holds no record, and goes with the chart."),
    modes: branch(
      "Off: the mode's role is not there, the operator may not lend it, and a request for it is refused.",
      Object.fromEntries(DEBUG_MODES.map((mode) => [mode, flag(MODES[mode][0], MODES[mode][1])])),
    ),
    maxTTL: text("1h", "Longest that a session stays open, whatever was approved. At most 8 h.", DURATION),
    maxConcurrent: count(3, 1, "Sessions open at once.", 16),
    idle: text(
      "15m",
      "A session in which the engineer does nothing for this long is ended; what kubectl sends by itself does not count. At most 15 m, after which the platform ends a session without a byte.",
      DURATION,
    ),
    strict: flag(
      true,
      "End every session when the API server has been silent for 30 s: your word that ends one could not be heard.",
    ),
    recording: words(
      "required",
      ["required", "off"],
      "`required`: what a terminal shows is recorded, and a terminal that cannot be recorded is refused. Input is never recorded.",
    ),
    upload: flag(
      true,
      "Send audit file and recording to the platform when a session has ended. Off: both stay in the cluster, in the tunnel's spool and its log.",
    ),
    uploadHosts: list(
      "Hosts that they may be sent to beside the platform's own, such as the platform's bucket: `my-bucket.s3.eu-central-1.amazonaws.com`, with a port unless it is 443. The platform names the address of each file; one with another host is not used.",
      [],
      { type: "string", pattern: "^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$" },
    ),
    audit: branch("Where the record of each request is written, before the request goes on.", {
      size: leaf("256Mi", MEMORY, "Room for all sessions, and for what waits to be sent. Full: no session is taken."),
      sessionSize: text(
        "",
        "Room for one session's audit and recording; one that needs more ends. Empty: `size` divided by `maxConcurrent` and one.",
        MEMORY_OR_DEFAULT,
      ),
      existingClaim: text(
        "",
        "PersistentVolumeClaim of the release's namespace for the spool. Empty: an emptyDir, which a deleted pod takes with it. With a claim there is one replica, and an upgrade stops it before the next one starts. The volume must be writable for the image's user: set `podSecurityContext.fsGroup` where it is not.",
        NAME_OR_DEFAULT,
      ),
    }),
  },
);
