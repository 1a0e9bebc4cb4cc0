import { Gauge, type Registry } from "prom-client";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { DEFAULT_NAMES, operationRole } from "../../crds/group.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import { debugRights } from "../../crds/manifests/roles/debug-roles.ts";
import { releaseRights } from "../../crds/manifests/roles/release-roles.ts";
import { releaseSecretRights } from "../../crds/manifests/roles/release-secret-roles.ts";
import {
  clusterOpenedRights,
  type RequiredRight,
  requiredRights,
  rightsNotes,
  rightsText,
} from "../../crds/manifests/roles/required-rights.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { AccessWatch } from "../../kube/access/access-watch.ts";
import type { Client } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { OperatorConfig } from "../kernel/config.ts";
import { plannedPlaces } from "./planned-places.ts";

export interface RightsOptions {
  readonly client: Pick<Client, "selfSubjectRulesReview" | "selfSubjectAccessReview">;
  readonly config: OperatorConfig;
  readonly commands: CommandTable;
  /** Namespaces that are served. */
  readonly served: () => readonly string[];
  readonly events: Pick<EventRecorder, "record">;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
}

const READS: ReadonlySet<string> = new Set(["get", "list", "watch"]);

/** Which of its own rights the operator has lost, and what must wait for them. */
export class Rights {
  readonly #commands: CommandTable;
  readonly watch: AccessWatch<RequiredRight>;
  /** Rights for operations on objects without a namespace. They are off as shipped: only plans that need them tell. */
  readonly clusterWatch: AccessWatch<RequiredRight>;

  /** Rights for debug sessions; undefined where they are switched off. */
  readonly debugWatch: AccessWatch<RequiredRight> | undefined;
  /** Rights for releases; undefined where they are switched off. */
  readonly releaseWatch: AccessWatch<RequiredRight> | undefined;

  constructor(options: RightsOptions) {
    const { client, config, served, clock, log, registry } = options;
    this.#commands = options.commands;
    const { systemNamespace, grantsNamespace, leaseName: operatorAccount, roleKind, lendingMode } = config;
    const { plugins } = config;
    const names = {
      ...DEFAULT_NAMES,
      systemNamespace,
      grantsNamespace,
      operatorAccount,
      roleKind,
      lendingMode,
      plugins,
    };
    const looking = { client, clock, log, everyMs: config.accessCheckIntervalMs };
    this.watch = new AccessWatch({ ...looking, required: () => requiredRights("operator", names, served()) });
    this.clusterWatch = new AccessWatch({ ...looking, required: () => clusterOpenedRights(names), isOptional: true });
    const { debugEnabled, debugNamespace, debugModes } = config;
    const required = () => debugRights({ ...names, debugNamespace }, served(), debugModes);
    this.debugWatch = debugEnabled ? new AccessWatch({ ...looking, required }) : undefined;
    const { releasesSecrets, releasesNamespace, releasesKinds, releasesRole: releaseRole } = config;
    const ofSecrets = releasesSecrets ? releaseSecretRights("operator", { ...names, releasesNamespace }) : [];
    const ofReleases = () => [
      ...releaseRights("operator", { ...names, releaseRole }, served(), releasesKinds),
      ...ofSecrets,
    ];
    this.releaseWatch = config.releasesEnabled ? new AccessWatch({ ...looking, required: ofReleases }) : undefined;
    for (const watch of this.watches) {
      if (watch === this.clusterWatch) continue;
      watch.onChange((change) => {
        for (const note of rightsNotes("the operator", change, names)) options.events.record(note);
      });
    }
    rightsGauge(registry, () => this.watch.missing);
  }

  /** Of all that is switched on. */
  get watches(): readonly AccessWatch<RequiredRight>[] {
    const all = [this.watch, this.clusterWatch, this.debugWatch, this.releaseWatch];
    return all.filter((watch) => watch !== undefined);
  }

  /**
   * What no rollout can be carried out without, in words; undefined when nothing is missing. What is missing in one opened
   * namespace holds no rollout of another: it fails in its plan.
   */
  get missingForReleases(): string | undefined {
    const missing = (this.releaseWatch?.missing ?? []).filter(({ reach }) => reach !== "opened");
    return missing.length === 0 ? undefined : `the operator may not ${rightsText(missing)}`;
  }

  /** What the plan of this grant cannot run without. */
  missingFor(grant: Pick<AccessGrant, "spec">): readonly RequiredRight[] {
    const places = plannedPlaces(grant, this.#commands);
    const roles = grant.spec.commands.map(({ command }) => {
      const [plugin = "", operation = ""] = command.split("/", 2);
      return operationRole(plugin, operation);
    });
    return [...this.watch.missing, ...this.clusterWatch.missing].filter(({ reach, namespace, verb, name = "" }) => {
      if (reach === "grants") return true;
      const isPlanned = places.includes(reach === "cluster-opened" ? undefined : namespace);
      return reach !== "system" && isPlanned && (verb !== "bind" || roles.includes(name));
    });
  }

  /** What this session cannot be opened without, in words; undefined when nothing is missing. */
  missingForSession({ spec }: Pick<DebugSession, "spec">): string | undefined {
    const role = operationRole("debug", spec.mode);
    const missing = (this.debugWatch?.missing ?? []).filter(
      ({ reach, namespace, name }) => reach !== "opened" || (namespace === spec.namespace && name === role),
    );
    return missing.length === 0 ? undefined : `the operator may not ${rightsText(missing)}`;
  }

  /**
   * Why nothing may be started now. Without reads of decisions and policies the operator would act on old ones; without
   * an account an operation has no user to run as. An operation switched off in one namespace is no obstacle: it fails
   * by itself.
   */
  get obstacle(): string | undefined {
    const missing = this.watch.missing.filter(({ reach, resource, verb }) => {
      if (reach !== "grants") return false;
      return resource.startsWith("serviceaccounts") ? verb === "create" : resource !== "events" && READS.has(verb);
    });
    return missing.length === 0 ? undefined : `the operator may not ${rightsText(missing)}`;
  }
}

export function rightsGauge(registry: Registry, missing: () => readonly RequiredRight[]): void {
  new Gauge({
    name: "sallyport_operator_missing_rights",
    help: "Rights that the operator needs and does not have, by where: own namespace, grants, opened namespaces.",
    labelNames: ["reach"],
    registers: [registry],
    collect() {
      for (const reach of ["system", "grants", "opened"] as const) {
        this.set({ reach }, missing().filter((right) => right.reach === reach).length);
      }
    },
  });
}
