import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import { CLIENT_SIGNER } from "../../crds/manifests/admission/machine-admission.ts";
import type { Client } from "../../kube/client/client.ts";
import type { KubeObject, Resource } from "../../kube/objects/resource.ts";
import { requestName, type SigningRequest } from "./decide-join.ts";

export const certificateSigningRequests: Resource = {
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  namespaced: false,
};

interface RequestCondition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

/** The part of `certificates.k8s.io/v1` that is read here. */
export interface CertificateSigningRequest extends KubeObject {
  readonly spec: {
    /** Base64 of PEM. */
    readonly request: string;
    readonly signerName: string;
    readonly username: string;
    readonly groups?: readonly string[];
    readonly usages?: readonly string[];
    readonly expirationSeconds?: number;
  };
  readonly status?: {
    /** Base64 of PEM. */
    readonly certificate?: string;
    readonly conditions?: readonly RequestCondition[];
  };
}

/** A first certificate is asked for a day: the kubelet renews it before that is over, for as long as the signer gives. */
const FIRST_SECONDS = 86_400;
const APPROVED = "SallyportMachineApproved";

export function isApproved({ status }: CertificateSigningRequest): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Approved" && is === "True") === true;
}

export async function readRequest(
  client: Pick<Client, "get">,
  name: string,
  signal: AbortSignal,
): Promise<SigningRequest | undefined> {
  const found = await client.get<CertificateSigningRequest>(certificateSigningRequests, { name }, signal);
  if (found === undefined) return undefined;
  const { spec, status, metadata } = found;
  const failed = status?.conditions?.find(({ type }) => type === "Failed" || type === "Denied");
  return {
    request: spec.request,
    username: spec.username,
    isApproved: isApproved(found),
    createdAt: metadata.creationTimestamp,
    ...(status?.certificate && { certificate: Buffer.from(status.certificate, "base64").toString("latin1") }),
    ...(failed && { failed: `${failed.type}: ${failed.message ?? ""}` }),
  };
}

/** @throws ApiError AlreadyExists */
export async function createRequest(
  client: Pick<Client, "create">,
  join: MachineJoin,
  signal: AbortSignal,
): Promise<void> {
  const body = join.spec.request.match(/.{1,64}/g)?.join("\n") ?? "";
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`;
  const request = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: requestName(join) },
    spec: {
      request: Buffer.from(pem, "latin1").toString("base64"),
      signerName: CLIENT_SIGNER,
      usages: ["digital signature", "client auth"],
      expirationSeconds: FIRST_SECONDS,
    },
  };
  await client.create<KubeObject & { readonly spec: object }>(certificateSigningRequests, request, signal);
}

/** Approves exactly the version that was read: one that changed since is a conflict. @throws ApiError */
export async function approve(
  client: Pick<Client, "patch">,
  { metadata: { name, resourceVersion }, status }: Pick<CertificateSigningRequest, "metadata" | "status">,
  message: string,
  signal: AbortSignal,
): Promise<void> {
  const approval = { type: "Approved", status: "True", reason: APPROVED, message };
  const body = { metadata: { resourceVersion }, status: { conditions: [...(status?.conditions ?? []), approval] } };
  const options = { subresource: "approval" } as const;
  await client.patch(certificateSigningRequests, { name }, { type: "merge", body }, options, signal);
}
