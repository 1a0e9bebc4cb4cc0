import { PendingRequest } from "../../contract/access-requests/access-relay.ts";
import { misfit } from "../../contract/wire/misfit.ts";
import { planHash } from "../../crds/plan.ts";
import { paramsProblem } from "../platform-link/params-problem.ts";
import { isReadable } from "../platform-link/readable.ts";

/** A request as the platform lists it: checked, or known to be unfit for this cluster and why. */
export interface ListedRequest {
  readonly id: string;
  readonly deploymentId: string;
  readonly wanted:
    | { readonly fit: true; readonly request: PendingRequest }
    | { readonly fit: false; readonly problem: string };
}

const FIELDS = [
  "title",
  "reason",
  "commands",
  "risk",
  "planHash",
  "maxMinutes",
  "decideBefore",
  "requestedBy",
] as const;
/** As the custom resource has them; beyond these the API server would refuse the grant. */
const LIMITS = { title: 256, reason: 2_048, requestedBy: 256, commands: 50, maxMinutes: 43_200 } as const;

/** One item of the platform's list; undefined when it has not even an id to answer with. */
export function readListedRequest(item: unknown, deploymentId: string): ListedRequest | undefined {
  if (misfit(PendingRequest, item, ["id"]) !== undefined) return undefined;
  const { id } = item as PendingRequest;
  const problem = misfit(PendingRequest, item, FIELDS) ?? requestProblem(item as PendingRequest, deploymentId);
  if (problem !== undefined) return { id, deploymentId, wanted: { fit: false, problem } };
  return { id, deploymentId, wanted: { fit: true, request: item as PendingRequest } };
}

/** Why this request is not shown in the cluster, though its fields have the right types. */
function requestProblem(request: PendingRequest, deploymentId: string): string | undefined {
  const texts = { title: request.title, reason: request.reason ?? "", requestedBy: request.requestedBy };
  for (const [name, text] of Object.entries(texts)) {
    const isLine = name !== "reason";
    if (!isReadable(text) || (isLine && /[\n\t]/.test(text))) return `${name}: a character that cannot be shown`;
    if (text.length > LIMITS[name as keyof typeof texts]) return `${name}: too long`;
  }
  if (request.title === "") return "title: empty";
  if (request.commands.length < 1 || request.commands.length > LIMITS.commands) return "commands: not 1 to 50 of them";
  if (request.maxMinutes < 1 || request.maxMinutes > LIMITS.maxMinutes) return "maxMinutes: not 1 to 43200";
  for (const [index, { params }] of request.commands.entries()) {
    const problem = paramsProblem(params, `commands.${index}.params`);
    if (problem !== undefined) return problem;
  }
  const hash = planHash({ requestId: request.id, deploymentId, risk: request.risk, commands: request.commands });
  return hash === request.planHash ? undefined : "planHash: not the hash of this plan";
}
