import { AUTO_ACCOUNT, grantAccount, type LendingMode } from "../../crds/group.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { bindingLine, isLent, type LentRole, lentRole, type Place, rolesOfPlan } from "../../crds/kinds/lending.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import type { Access, Binding } from "./access.ts";

/** What approvers still have to lend before a plan can run, and how. */
export interface PlanLending {
  /** The kubectl line of each binding that the plan needs. */
  readonly lines: readonly string[];
  /** Those of them whose binding is not there. */
  readonly missing: readonly string[];
}

export interface RoleLendingOptions {
  readonly access: Pick<Access, "bindingsIn">;
  readonly grantsNamespace: string;
  readonly roleKind: string;
  readonly mode: LendingMode;
  readonly commands: CommandTable;
}

/** Looks for the role bindings that approvers have to make. Where the operator makes them, none is ever missing. */
export class RoleLending {
  readonly #options: RoleLendingOptions;

  constructor(options: RoleLendingOptions) {
    this.#options = options;
  }

  /** Undefined where the operator lends. */
  async ofPlan({ metadata, spec }: AccessGrant, signal: AbortSignal): Promise<PlanLending | undefined> {
    if (this.#options.mode === "operator") return undefined;
    const account = grantAccount(metadata.uid);
    const roles = rolesOfPlan(spec.commands, this.#options.commands);
    const line = (role: LentRole): string => bindingLine(role, account, this.#options);
    return { lines: roles.map(line), missing: (await this.#missing(roles, account, signal)).map(line) };
  }

  /**
   * Why a command has to wait. Undefined when it has not.
   *
   * @param grantUid absent for what runs by itself
   */
  async missingBinding(
    command: string,
    namespace: Place,
    grantUid: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (this.#options.mode === "operator") return undefined;
    const account = grantUid === undefined ? AUTO_ACCOUNT : grantAccount(grantUid);
    const role = lentRole(command, namespace, this.#options.commands);
    if (role === undefined) return `no role can be lent for ${command} in ${whereOf(namespace)}`;
    const missing = await this.#missing([role], account, signal);
    if (missing.length === 0) return undefined;
    const [who, how] =
      grantUid === undefined ? ["a policy admin", ""] : ["an approver", "; status.bindings of the grant has its line"];
    return `waits for a binding of ${role.role} to account ${account} in ${whereOf(namespace)}, which ${who} makes${how}`;
  }

  async #missing(roles: readonly LentRole[], account: string, signal: AbortSignal): Promise<readonly LentRole[]> {
    const { access, grantsNamespace } = this.#options;
    const found = new Map<Place, readonly Binding[]>();
    for (const { namespace } of roles) {
      if (!found.has(namespace)) found.set(namespace, await access.bindingsIn(namespace, signal));
    }
    return roles.filter((role) => !isLent(role, account, found.get(role.namespace) ?? [], grantsNamespace));
  }
}

function whereOf(namespace: Place): string {
  return namespace ?? "the whole cluster";
}
