import type { ManagerSetup } from "../../../../contract/managers/managers.ts";
import { pastedLine } from "../../../../contract/wire/pasted-line.ts";
import type { Step, Terms } from "./commands.ts";

/** What the link of a manager's setup lets its holder do: exchange its token for the runtime key, once. Pure. */
export function managerSteps(managerId: string, setup: ManagerSetup, terms: Terms): readonly Step[] {
  return [...kubernetesSteps(managerId, terms), ...cloudSteps(setup, terms)];
}

/** The key goes from the platform into the Secret: no file, no argument of a program and no terminal has it. */
function kubernetesSteps(managerId: string, { token, baseUrl }: Terms): readonly Step[] {
  const asking = pastedLine`KEY=$(printf 'Authorization: Bearer %s' ${token} | curl -sS --fail -X POST --header @- ${baseUrl}/v1/managers/${managerId}/bootstrap`;
  const making = "kubectl -n sallyport-system create secret generic sallyport-runtime-key --from-file=key=/dev/stdin";
  const installing = pastedLine`helm upgrade --install sallyport YOUR-CHART -n sallyport-system --set platform.url=${baseUrl}`;
  return [
    {
      title: "Into a Kubernetes cluster: the key",
      why: "The token of this link is exchanged for the agent's key, which goes into a Secret. A second exchange takes the first key back.",
      lines: [
        "kubectl create namespace sallyport-system",
        asking && `${asking} | sed -n 's/.*"apiKey":"\\([^"]*\\)".*/\\1/p')`,
        `test -n "$KEY" && printf %s "$KEY" | ${making}; unset KEY`,
      ],
    },
    {
      title: "Into a Kubernetes cluster: the agent and the operator",
      why: "Put the chart that your vendor gives you in place of YOUR-CHART. What it may do in your cluster is yours to narrow.",
      lines: [
        installing && `${installing} \\\n  --set runtimeKey.existingSecret=sallyport-runtime-key`,
        "kubectl -n sallyport-system get pods --watch",
      ],
    },
  ];
}

function cloudSteps(setup: ManagerSetup, { token }: Terms): readonly Step[] {
  switch (setup.method) {
    case "cloudformation":
      return [
        {
          title: "Or into AWS, with CloudFormation",
          why: `Create the stack ${setup.stackName} with this template. It asks for the token, which is the second line.`,
          lines: [pastedLine`curl -sS --fail -O ${setup.templateUrl}`, pastedLine`${token}`],
        },
      ];
    case "terraform": {
      const exporting = pastedLine`export TF_VAR_setup_token=${token}`;
      return [
        {
          title: "Or with Terraform: main.tf",
          why: "It leaves the key in the file runtime.key.",
          lines: [setup.mainTf],
        },
        { title: "terraform.tfvars", why: "It holds no secret.", lines: [setup.tfvars] },
        { title: "Apply", why: "", lines: [exporting, "terraform init", "terraform apply"] },
      ];
    }
    case "google-oauth":
      return [];
  }
}
