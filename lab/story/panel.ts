import { relative } from "node:path";
import { ACCESS_GRANT } from "../../src/crds/kinds/access-grant.ts";
import { MANAGED_DEPLOYMENT } from "../../src/crds/kinds/managed-deployment.ts";
import { OPERATION_INVOCATION } from "../../src/crds/kinds/operation-invocation.ts";
import { OPERATION_POLICY } from "../../src/crds/kinds/operation-policy.ts";
import { ROLLOUT } from "../../src/crds/kinds/rollout.ts";
import { WORKLOAD } from "./customer.ts";
import type { World } from "./world.ts";

/** Prints the addresses, the people and the first thing to type, on one screen. */
export function panel({ vendor, target, folder }: Pick<World, "vendor" | "target" | "folder">, cwd: string): string {
  const near = (file: string) => relative(cwd, file) || ".";
  return `Platform   ${vendor.url}
           key of an engineer ${near(vendor.keyFiles.engineer)}, of an admin ${near(vendor.keyFiles.admin)}
Cluster    ${target.description}
           kubeconfig of its admin ${near(target.adminKubeconfig)}
Workload   deployment ${WORKLOAD.name} in namespace ${target.workloadNamespace}
Logs       ${near(folder)}/logs

Who acts as whom
  engineer   a workspace.member key          asks, over the platform's HTTP API
  agent      sallyport-agent (token)         carries requests in and results out; may change nothing
  approver   ${target.approver.user.padEnd(30)}  decides, with kubectl
  operator   sallyport-operator (token)      acts, through an account made for one grant

To be the approver, in another terminal:`;
}

/** The line that exports the approver's credentials in another terminal. */
export function approverExport({ target, folder }: Pick<World, "target" | "folder">): string {
  return `export KUBECONFIG=${target.approver.kubeconfig} PATH=${folder}/bin:$PATH`;
}

function shortNames(...kinds: readonly { readonly shortName: string }[]): string {
  return kinds.map(({ shortName }) => shortName).join(",");
}

/** What a person can try after the story. */
export function farewell({ vendor, target }: Pick<World, "vendor" | "target">, cwd: string): string {
  const key = relative(cwd, vendor.keyFiles.engineer);
  return `It stays up until Ctrl-C. To look around, with the approver's KUBECONFIG:

    kubectl get ${shortNames(ACCESS_GRANT, OPERATION_INVOCATION, MANAGED_DEPLOYMENT, OPERATION_POLICY, ROLLOUT)} -n sallyport-grants
    kubectl describe ${shortNames(ACCESS_GRANT, ROLLOUT)} -n sallyport-grants
    kubectl get pods -n ${target.workloadNamespace}

and as the engineer:

    curl -H "Authorization: Bearer $(cat ${key})" ${vendor.url}/v1/access-requests
    curl -H "Authorization: Bearer $(cat ${key})" ${vendor.url}/v1/commands`;
}
