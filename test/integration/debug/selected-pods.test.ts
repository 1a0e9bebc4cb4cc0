import type { ServerHttp2Stream } from "node:http2";
import { PassThrough } from "node:stream";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { silentLogger } from "../../../src/base/log.ts";
import { connect } from "../../../src/kube/client/connection.ts";
import { tunnelMetrics } from "../../../src/tunnel/kernel/metrics.ts";
import { RequestHandler } from "../../../src/tunnel/serving/request-handler.ts";

const cluster = useCluster();

/** The pod's annotations are of a length that the tunnel would not read. */
function pod(name: string, app: string): Readonly<Record<string, unknown>> {
  const annotations = { note: "x".repeat(200_000) };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: { app }, annotations },
    spec: { containers: [{ name: "main", image: "none" }], automountServiceAccountToken: false },
  };
}

test("the API server says which pods a session's selector reaches, in a few bytes", async () => {
  await cluster().apply([pod("web-1", "web"), pod("db-1", "db")]);
  const connection = await connect({ kubeconfig: cluster().adminKubeconfig });
  const handler = new RequestHandler({
    scope: () => ({
      mode: "logs",
      namespace: "default",
      selector: "app=web",
      recordingRequired: false,
      leftSeconds: 60,
    }),
    ports: undefined,
    recording: undefined,
    upstream: () => connection,
    audit: { append: async () => undefined },
    clock: systemClock,
    log: silentLogger,
    metrics: tunnelMetrics(new Registry()),
    counts: { requests: 0, denied: 0, refused: undefined, bytesIn: 0, bytesOut: 0, lastClientByteMs: 0 },
    onAuditFailed: () => expect.unreachable(),
  });
  const ask = async (name: string): Promise<unknown> => {
    let status: unknown;
    const respond = (headers: Readonly<Record<string, unknown>>): void => {
      status = headers[":status"];
    };
    const stream = Object.assign(new PassThrough(), { respond });
    stream.resume();
    const headers = { ":method": "GET", ":path": `/api/v1/namespaces/default/pods/${name}` };
    await handler.handle(stream as unknown as ServerHttp2Stream, headers);
    return status;
  };
  expect([await ask("web-1"), await ask("db-1"), await ask("gone")]).toEqual([200, 403, 403]);
  await connection.close();
});
