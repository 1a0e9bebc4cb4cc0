import { agentShowsDeployment, customerAccepts, platformServesDeployment } from "./accepting.ts";
import {
  auditLogAgrees,
  clusterShowsReplicas,
  operatorClosesDoor,
  operatorOpensWindow,
  operatorRuns,
  platformShowsDecision,
  platformShowsDenial,
  platformShowsResult,
} from "./acting.ts";
import {
  agentBringsGrant,
  engineerInvokesScale,
  engineerListsPods,
  engineerQueuesRequest,
  engineerRaisesRequest,
} from "./asking.ts";
import { type Answer, customerDecides } from "./deciding.ts";
import { releasesComeAndGoBack } from "./releasing.ts";
import type { Scene } from "./scene.ts";

/**
 * Sallyport's main case, step by step. Every step checks what it prints, on the platform and on the API server.
 *
 * @returns what the customer answered; after `denied` nothing ran, and the story is over.
 * @throws StepFailed, which has been printed already.
 */
export async function playStory(scene: Scene, approveForThem: boolean, signal: AbortSignal): Promise<Answer> {
  const line = await agentShowsDeployment(scene, signal);
  await customerAccepts(scene, line, signal);
  await platformServesDeployment(scene, signal);
  await engineerInvokesScale(scene, signal);
  const request = await engineerRaisesRequest(scene, signal);
  await engineerQueuesRequest(scene, request, signal);
  const { grant, command } = await agentBringsGrant(scene, request, signal);
  await engineerListsPods(scene, signal);
  const answer = await customerDecides(scene, command, grant, approveForThem, signal);
  if (answer === "denied") {
    await platformShowsDenial(scene, request, signal);
    return answer;
  }
  await operatorOpensWindow(scene, grant, signal);
  const invocation = await operatorRuns(scene, grant, signal);
  await clusterShowsReplicas(scene, signal);
  await auditLogAgrees(scene, grant, signal);
  await platformShowsDecision(scene, request, signal);
  await platformShowsResult(scene, request, invocation, signal);
  await operatorClosesDoor(scene, grant, signal);
  await releasesComeAndGoBack(scene, signal);
  return answer;
}
