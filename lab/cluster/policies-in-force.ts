import { randomUUID } from "node:crypto";
import { sleep, systemClock } from "../../src/base/clock.ts";
import type { ApiAnswer, ApiCall } from "./api-request.ts";

type Request = (call: ApiCall, signal: AbortSignal) => Promise<ApiAnswer>;

const GROUP = "admissionregistration.k8s.io/v1";
const MARK = "lab/in-force";

/**
 * Waits until the API server enforces the policies that were written before: 0.5 to 3 s, on a busy machine 10. It reads all of
 * a kind at once, in the order of their writing, so a last one that shows itself vouches for those before. Without this, a test
 * finds allowed what a policy refuses.
 */
export async function policiesInForce(
  objects: readonly { readonly kind?: unknown }[],
  request: Request,
  signal: AbortSignal,
): Promise<void> {
  const kinds = (["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"] as const).filter((kind) =>
    objects.some((object) => object.kind === kind || object.kind === `${kind}Binding`),
  );
  await Promise.all(kinds.map((kind) => inForce(kind, request, signal)));
}

/**
 * Waits until the API server finds the kinds of ours that policies have as parameters. It looks for new kinds each half minute,
 * and until then refuses each request that such a policy matches with 422.
 */
export async function ownParamsFound(objects: readonly object[], request: Request, signal: AbortSignal): Promise<void> {
  const specs = (objects as readonly { readonly spec?: { readonly paramKind?: object } }[]).map(({ spec }) => spec);
  const kinds = specs.map((spec) => JSON.stringify(spec?.paramKind) ?? "");
  for (const kind of new Set(kinds.filter((each) => each.includes("sallyport.dev"))))
    await inForce("ValidatingAdmissionPolicy", request, signal, JSON.parse(kind) as object);
}

/** {@link policiesInForce} for all that were written before, of the kinds that the API server knows: before 1.36 it has no mutating ones. */
export async function allPoliciesInForce(request: Request, signal: AbortSignal): Promise<void> {
  const { body } = await request({ path: `/apis/${GROUP}` }, signal);
  await policiesInForce(
    (body as { readonly resources: readonly { readonly kind: string }[] }).resources,
    request,
    signal,
  );
}

async function inForce(
  kind: keyof typeof MARKERS,
  request: Request,
  signal: AbortSignal,
  paramKind?: object,
): Promise<void> {
  const name = `lab-in-force-${randomUUID()}`;
  // Parameters are looked for before conditions are: all requests of the resource would be refused, so it is one of no test.
  const resource = paramKind === undefined ? "configmaps" : "podtemplates";
  const path = `/apis/${GROUP}/${kind.replace(/y$/, "ies").toLowerCase()}`;
  const binding = {
    policyName: name,
    ...(kind === "ValidatingAdmissionPolicy" && { validationActions: ["Deny"] }),
    ...(paramKind && { paramRef: { selector: {}, parameterNotFoundAction: "Deny" } }),
  };
  const parts = [
    [kind, path, { ...matching(name, resource), ...MARKERS[kind], ...(paramKind && { paramKind }) }],
    [`${kind}Binding`, `/apis/${GROUP}/${kind.toLowerCase()}bindings`, binding],
  ] as const;
  for (const [made, where, spec] of parts) {
    const body = { apiVersion: GROUP, kind: made, metadata: { name }, spec };
    const { status, body: said } = await request({ method: "POST", path: where, body }, signal);
    if (status !== 201) throw new Error(`no ${made} ${name}: ${status} ${JSON.stringify(said)}`);
  }
  const probe = {
    method: "POST",
    path: `/api/v1/namespaces/default/${resource}?dryRun=All`,
    body: { metadata: { name }, ...(paramKind && { template: { spec: { containers: [{ name: "a", image: "a" }] } } }) },
  };
  const isSeen = async () => {
    const words = JSON.stringify((await request(probe, signal)).body);
    return words.includes(MARK) || (paramKind !== undefined && words.includes("no params found"));
  };
  while (!(await isSeen())) await sleep(systemClock, 50, signal);
  for (const [, where] of parts) await request({ method: "DELETE", path: `${where}/${name}` }, signal);
}

/** What the probe's answer shows once the policy is in force. */
const MARKERS = {
  ValidatingAdmissionPolicy: { validations: [{ expression: "false", message: MARK }] },
  MutatingAdmissionPolicy: {
    reinvocationPolicy: "Never",
    mutations: [
      {
        patchType: "JSONPatch",
        jsonPatch: { expression: `[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'${MARK}': ''}}]` },
      },
    ],
  },
};

function matching(name: string, resource: string): object {
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: [resource] };
  return {
    failurePolicy: "Fail",
    matchConstraints: { resourceRules: [rule] },
    matchConditions: [{ name: "probe", expression: `object.metadata.name == '${name}'` }],
  };
}
