/** What is customary for charts, and the tests of ours: file (without `.test.ts`) and the test's name in it. */
interface Convention {
  readonly about: string;
  readonly tests: readonly (readonly [file: string, test: string])[];
  /** What this chart does not do, or does in another way. */
  readonly differs?: string;
}

const chart = (file: string): string => `test/chart/${file}`;
const integration = (file: string): string => `test/integration/${file}`;
const e2e = (file: string): string => `test/e2e/${file}`;

export const CONVENTIONS: readonly Convention[] = [
  {
    about: "A strict schema of the values, which takes what a parent chart puts beside",
    tests: [
      [chart("values"), "refuses %j and names %s"],
      [chart("values"), "lets through what a parent chart and other charts put beside"],
      [chart("nulls"), "and that the chart cannot do without is refused by its name"],
    ],
  },
  {
    about: "A credential is never required in values",
    tests: [
      [chart("values"), "a combination that cannot work is refused with what to do"],
      [chart("pods"), "the runtime key is never an environment variable, and only the agent has it"],
    ],
  },
  {
    about: "Same values, same bytes: no look-up, no chance",
    tests: [
      [chart("values"), "no template asks the cluster, the clock or chance"],
      [chart("values"), "renders the same bytes twice, with no object twice"],
    ],
    differs:
      "a first install leaves out what its kinds are not there for yet and a default policy that exists; with metrics.renderMode so do monitors. Two more look-ups can refuse a release, and change nothing in it",
  },
  {
    about: "Image of registry, repository and tag or digest; global registry and pull secrets",
    tests: [
      [chart("pods"), "the image"],
      [chart("pods"), "pull secrets are the chart's and the parent's, by name or as objects"],
    ],
  },
  {
    about: "PodSecurity restricted by default",
    tests: [
      [chart("pods"), "passes PodSecurity restricted, with a read-only root"],
      [chart("install"), "has pods that PodSecurity restricted lets in"],
    ],
  },
  {
    about: "OpenShift may choose the UID",
    tests: [[chart("pods"), "pins no UID, so that OpenShift can give one"]],
    differs: "no switch is needed, as no UID is pinned",
  },
  {
    about: "Requests and a memory limit, no CPU limit",
    tests: [
      [chart("pods"), "has requests, a memory limit and no more than three quarters of it as heap"],
      [chart("nulls"), "takes a probe, the limits or the heap's size away"],
    ],
  },
  {
    about: "Accounts can be named, annotated or brought along; no token is mounted by itself",
    tests: [[chart("pods"), "mounts its token itself, bound and short, and secrets as directories"]],
  },
  {
    about: "Rights are minimal, explained, and possible without ClusterRoles",
    tests: [
      [chart("access"), "are those of its golden file"],
      [chart("access"), "hold no wildcard, no Secrets, no exec, no escalate and no impersonate"],
      [chart("installer"), "a namespace's admin with the installer's roles installs, upgrades and uninstalls"],
    ],
  },
  {
    about: "Custom resource definitions are upgraded with the chart, and stay after it",
    tests: [
      [chart("access"), "stay when the chart goes, unless told otherwise; so does the namespace with the records"],
      [e2e("lifecycle"), "takes over and gives back: records stay, what waits goes on, nothing runs twice"],
    ],
    differs: "there is one stored version so far, and no conversion",
  },
  {
    about: "Definitions check themselves",
    tests: [["src/crds/kinds/kind", "is a structural schema: no keyword that the API server refuses"]],
  },
  {
    about: "Probes on a port of their own; liveness depends on nothing else",
    tests: [[chart("pods"), "probes ask the health port, and liveness never what depends on others"]],
  },
  {
    about: "An orderly stop",
    tests: [[chart("pods"), "a rolling update never has fewer replicas than asked for, and a stop has its time"]],
  },
  {
    about: "Several replicas, one leader",
    tests: [
      [
        e2e("drain"),
        "the node under the leading operator is drained amid a plan: the other replica goes on, each line runs once",
      ],
    ],
  },
  {
    about: "A disruption budget only with more than one replica, and never before pods that are not ready",
    tests: [
      [chart("pods"), "a disruption budget stands only before more than one replica"],
      [chart("written"), "two replicas that are not ready do not block the drain of their node"],
    ],
  },
  {
    about: "Scheduling, a component's own or global",
    tests: [
      [chart("placement"), "of a component is its own; the test pod stands where the agent does"],
      [chart("placement"), "under global is for every pod, and a component's own wins"],
    ],
  },
  {
    about: "Network policies, off by default and real when on; Cilium by name",
    tests: [
      [chart("network"), "never hold a rule without ports, which would allow everything"],
      [chart("network"), "the agent reaches the platform by its name, and the operator the API server alone"],
      [e2e("network"), "the agent reaches the platform, and nothing beside it"],
    ],
    differs: "the Cilium form is rendered and not run",
  },
  {
    about: "A proxy, with a password from a Secret",
    tests: [
      [chart("network"), "is for the agent, and what is inside of the cluster never goes through it"],
      [chart("written"), "a proxy's password is in a Secret and nowhere else"],
      [
        integration("proxy/proxy"),
        "reports, is told of work at once, and brings the result back, all through tunnels of its user",
      ],
    ],
  },
  {
    about: "Private authorities beside the well-known ones",
    tests: [
      [chart("network"), "authorities of a %s are added to the well-known ones, not put in their place"],
      [e2e("proxy"), "takes the right authority when its Secret gets it, in the same pod"],
    ],
  },
  {
    about: "Secrets are read again when they change",
    tests: [
      [
        integration("agent/key-rotation"),
        "a key swapped under traffic is taken up without a failed request or a restart, and the old one can go",
      ],
      [e2e("rotation"), "a key that the Secret gets is taken up in the same pod, and the old one can go"],
    ],
  },
  {
    about: "Monitoring objects only when asked for",
    tests: [
      [chart("values"), "no kind of object appears because the server happens to know it"],
      [chart("network"), "%s is there only when asked for, with labels, where asked"],
      [chart("render-mode"), "%s in a cluster that has %j makes %j"],
    ],
  },
  {
    about: "Alerts can be changed one by one; dashboards for Grafana's sidecar",
    tests: [[chart("network"), "alerts can be left out, waited for differently, labelled and explained elsewhere"]],
  },
  {
    about: "Metrics on a pod's port, behind a headless Service; with TLS and for named readers when asked for",
    tests: [
      [chart("metrics-access"), "is a port of its own in pods, Services and policies, from the Secret's keys"],
      [chart("metrics-access"), "are checked only when asked for, and only then may the accounts ask"],
      ["test/integration/metrics-readers", "are for a token whose account may read them"],
    ],
  },
  {
    about: "Escape hatches",
    tests: [
      [chart("pods"), "every escape hatch opens"],
      [chart("written"), "in extraVolumes and extraVolumeMounts"],
      [chart("releases"), "a variable of the chart is overridden by an upgrade, and given back"],
    ],
  },
  {
    about: "Recommended labels; selectors that never change; names of at most 63 characters",
    tests: [
      [chart("pods"), "every object carries the recommended labels, and selectors no version"],
      [chart("pods"), "long names stay within what Kubernetes takes, for every object that has one"],
      [chart("written"), "texts that look like numbers stay texts"],
    ],
  },
  {
    about: "What cannot work is refused with a sentence; NOTES say what is not secure",
    tests: [
      [chart("values"), "a combination that cannot work is refused with what to do"],
      [chart("values"), "with %j, warn of what is not secure"],
      [chart("releases"), "a missing namespace is named before anything is made, and the next try succeeds"],
    ],
  },
  {
    about: "`helm test` with our own image",
    tests: [[chart("pods"), "helm test asks both processes, with our own image and the agent's identity"]],
  },
  {
    about: "An upgrade and a way back",
    tests: [
      [e2e("lifecycle"), "takes over and gives back: records stay, what waits goes on, nothing runs twice"],
      [chart("releases"), "rbac.scope changes on a live release, and back"],
    ],
  },
  {
    about: "Pages and metadata are generated",
    tests: [
      [chart("values"), "every value that the pages and the command line speak of exists"],
      [chart("metadata"), "its annotations list kinds, images and the changes of this version, as the changelog does"],
    ],
    differs: "no signing key yet",
  },
  {
    about: "Checked before it is published",
    tests: [
      [chart("values"), "lints strictly"],
      [chart("image"), "leaves an SBOM and a provenance beside the image, whatever the arguments"],
    ],
    differs:
      "installed on one Kubernetes version; no kubeconform, no signature, and publishing is not part of this repository",
  },
];

/** The README's table. */
export function conventionsTable(): string {
  const rows = CONVENTIONS.map(({ about, tests, differs }, index) => {
    const named = tests.map(([file, test]) => `\`${file}\`: ${test}`).join("<br>");
    return `| ${index + 1} | ${about} | ${named} | ${differs ?? ""} |`;
  });
  return ["| | Convention | Tests | Other here |", "|---|---|---|---|", ...rows].join("\n");
}
