import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { stringify } from "yaml";
import type { Deployment } from "../../../src/contract/deployments/deployment.ts";
import { objectName } from "../../../src/crds/group.ts";
import { NAMESPACE_PLACEHOLDER } from "../../../src/crds/kinds/accepted-namespaces.ts";
import { type Rollout, rollouts } from "../../../src/crds/kinds/rollout.ts";
import { pageCommands, runCommands } from "../../chart/page-commands.ts";
import type { Typed } from "../../integration/debug/typed.ts";
import { GRANTS } from "../../world/people.ts";
import { eventually } from "../../world/wait.ts";
import { type Cast, soon } from "../cast.ts";
import { Engineer, type Said } from "../debug-engineer.ts";

/** A rollout with three waves, each of which has to stay well for ten seconds, on a busy machine. */
const PATIENCE_MS = 200_000;
const PAGE = "docs/releases.md";

/** The customer, with the lines of the page. */
export class Customer {
  readonly #cast: Cast;
  readonly #lines = pageCommands(PAGE, "For the customer").flatMap((block) => block.trim().split("\n"));

  constructor(cast: Cast) {
    this.#cast = cast;
  }

  /** The page's one line with this text, its comment included, for a rollout. @throws Error when there is none, or several */
  line(part: string, { metadata, spec }: Rollout): string {
    const [found, second] = this.#lines.filter((line) => line.includes(part));
    if (found === undefined || second !== undefined) throw new Error(`${PAGE} has not one line with ${part}`);
    return found
      .replaceAll("duop-…", metadata.name)
      .replaceAll("rel-…", spec.contentName ?? "")
      .replace(/ {2,}#.*$/, "");
  }

  /** Runs a line in a shell as the approver. */
  async types(line: string): Promise<string> {
    const { code, stdout, stderr } = await this.#run(line, "approver");
    expect(code, `${line}\n${stderr}`).toBe(0);
    return stdout;
  }

  /** As the cluster's admin, who may do everything; a failure is in the result. */
  admin(line: string): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
    return this.#run(line, "adminKubeconfig");
  }

  async rollouts(): Promise<readonly Rollout[]> {
    const all = await this.#cast.list<Rollout>(rollouts, GRANTS);
    const timeOf = ({ metadata }: Rollout): number => Date.parse(metadata.creationTimestamp ?? "");
    return all.toSorted((one, other) => timeOf(one) - timeOf(other));
  }

  /** The rollout of this deployment that is none of those before, once it is so far. */
  next(deploymentId: string, before: readonly Rollout[], until: (state: string) => boolean): Promise<Rollout> {
    const known = new Set(before.map(({ metadata }) => metadata.uid));
    const find = async (): Promise<Rollout | undefined> =>
      (await this.rollouts()).find(
        ({ metadata, spec }) => spec.deploymentId === deploymentId && !known.has(metadata.uid),
      );
    return eventually(find, ({ status }) => until(status?.state ?? ""), PATIENCE_MS);
  }

  state({ metadata }: Rollout, until: (rollout: Rollout) => boolean): Promise<Rollout> {
    const key = { namespace: GRANTS, name: metadata.name };
    return eventually(() => this.#cast.kube.get<Rollout>(rollouts, key, soon()), until, PATIENCE_MS);
  }

  /** Reads the line that approves from the object, as the page says, and types it. */
  async approves(rollout: Rollout): Promise<void> {
    await this.state(rollout, ({ status }) => status?.approvalLine !== undefined);
    const line = await this.types(this.line("{.status.approvalLine}", rollout));
    await this.#cast.approve(line.trim());
  }

  /** Waits with the page's line until the rollout has succeeded. */
  async waits(rollout: Rollout): Promise<void> {
    await this.types(this.line("kubectl wait rout/", rollout));
  }

  #run(line: string, who: "approver" | "adminKubeconfig") {
    const { cluster, folder, programs } = this.#cast.scene;
    return runCommands(line, { folders: [dirname(programs.kubectl)], kubeconfig: cluster[who], home: folder });
  }
}

/** The vendor, with the command line of the page and deployments of its own, on the channel {@link CHANNEL}. */
export class Vendor {
  readonly #cast: Cast;
  readonly #engineer: Engineer;

  private constructor(cast: Cast, engineer: Engineer) {
    this.#cast = cast;
    this.#engineer = engineer;
  }

  static async at(cast: Cast): Promise<Vendor> {
    return new Vendor(cast, await Engineer.at(cast));
  }

  /**
   * A deployment that follows a channel of its own: what other tests look at follows `production`. A project's first
   * release goes there too, so that has nothing to install.
   */
  async deploys(name: string): Promise<string> {
    const { vendorAdmin, scene } = this.#cast;
    const { project, managerId, deploymentId } = scene.vendor;
    const query = { project };
    const { items } = await vendorAdmin.releases.list({ query: { ...query, allChannels: true } }, soon());
    if (items.length === 0) await vendorAdmin.releases.create({ body: { project } }, soon());
    await vendorAdmin.releaseChannels.create({ query, body: { name } }, soon());
    const { deploymentGroupId } = await this.reads(deploymentId);
    const body = {
      ...{ name, platform: "kubernetes" as const, project, deploymentGroupId, managerId },
      ...{ operatorPermission: "manage" as const, releaseChannel: name },
    };
    const { deployment } = await vendorAdmin.deployments.create({ body }, soon());
    return deployment.id;
  }

  reads(id: string): Promise<Deployment> {
    return this.#cast.vendorAdmin.deployments.get({ params: { id } }, soon());
  }

  sees(id: string, until: (deployment: Deployment) => boolean): Promise<Deployment> {
    return eventually(() => this.reads(id), until, PATIENCE_MS);
  }

  /** Creates a release and promotes it, with the page's lines. @returns its id */
  async releases(version: string, stack: object, channel: string): Promise<string> {
    const file = join(this.#engineer.home, "stack.yaml");
    await writeFile(file, stringify(stack));
    const project = this.#cast.scene.vendor.project;
    const made = await this.run("release", "create", "--project", project, "--version", version, "--stack", file);
    const [, id = ""] = /(rel_\w+)/.exec(made.out) ?? [];
    await this.run("releases", "promote", id, "--channel", channel);
    return id;
  }

  watches(releaseId: string): Typed {
    return this.#engineer.sallyport("rollouts", "watch", releaseId);
  }

  async run(...args: readonly string[]): Promise<Said> {
    const said = await this.#engineer.run(...args);
    expect(said.code, `${args.join(" ")}\n${said.error}`).toBe(0);
    return said;
  }

  /** The customer's answer to the deployment, with the line that its object shows. */
  async isAccepted(id: string, customer: Customer, namespace: string): Promise<void> {
    const read = `kubectl get manageddeployments ${objectName(id)} -n ${GRANTS} -o jsonpath='{.status.acceptanceLine}'`;
    const { stdout } = await eventually(
      () => customer.admin(read),
      ({ stdout: line }) => line !== "",
      PATIENCE_MS,
    );
    const { code, stderr } = await customer.admin(stdout.replace(NAMESPACE_PLACEHOLDER, namespace));
    expect(code, stderr).toBe(0);
  }
}
