import { expect, test } from "vitest";
import { isFull } from "../../../src/base/testing/full.ts";
import {
  ann,
  asCluster,
  asUser,
  base64,
  type Case,
  ca,
  config,
  exec,
  one,
  plugin,
  server,
  tryBoth,
  useTrial,
  V1,
  V1BETA1,
  withPlugin,
} from "./kubeconfig-trial.ts";

// Kubeconfigs that kubectl and our client refuse before the server has a request. kubectl is asked in the full tier.

useTrial();

const cases: Readonly<Record<string, Case>> = {
  "a current context that is not there": one(() => ({ more: { "current-context": "gone" } })),
  "no current context": one(() => ({ more: { "current-context": "" } })),
  "a cluster that is not there": one(() => ({ context: { cluster: "gone" } })),
  "a user that is not there": one(() => ({ context: { user: "gone" } })),
  "no file at all": { files: () => ({}) },
  "a KUBECONFIG of empty names": {
    files: (row) => ({ ".kube/config": config(row) }),
    env: () => ({ KUBECONFIG: ":" }),
  },
  "no YAML": { files: () => ({ config: "clusters: [\n" }) },
  "bytes that are no text": { files: () => ({ config: Buffer.from([0x61, 0xff, 0xfe, 0x3a]) }) },
  "a list": { files: () => ({ config: "- a\n" }) },
  "no server": one(() => ({ cluster: { "certificate-authority-data": ca() } })),
  "a name that comes twice": one((row) => ({
    more: {
      users: [
        { name: "u", user: { token: "a" } },
        { name: "u", user: { token: "b" } },
      ],
      clusters: [{ name: "c", cluster: { server: row.url, "certificate-authority-data": ca() } }],
    },
  })),
  "a number as a token": asUser(() => ({ token: 12_345 })),
  "a text as a flag": asCluster(() => ({ "insecure-skip-tls-verify": "true" })),
  "an authority twice": {
    files: (row) => ({
      config: config(row, {
        cluster: { server: row.url, "certificate-authority-data": ca(), "certificate-authority": "ca.pem" },
      }),
      "ca.pem": server.authority.certificate,
    }),
  },
  "an authority that is not asked": asCluster(() => ({ "insecure-skip-tls-verify": true })),
  "an authority that is not there": one(({ url }) => ({
    cluster: { server: url, "certificate-authority": "gone.pem" },
  })),
  "an authority that is no certificate": one(({ url }) => ({
    cluster: { server: url, "certificate-authority-data": base64("no certificate") },
  })),
  "an authority that is no base64": one(({ url }) => ({
    cluster: { server: url, "certificate-authority-data": "-----" },
  })),
  "another authority": one(({ url }) => ({
    cluster: { server: url, "certificate-authority-data": base64(server.stranger.certificate) },
  })),
  "no authority": one(({ url }) => ({ cluster: { server: url } })),
  "a name for TLS that is not the server's": asCluster(() => ({ "tls-server-name": "other.example" })),
  "no scheme, with an authority": asCluster(() => ({ server: `127.0.0.1:${server.port}` })),
  "no scheme and no authority": one(() => ({ cluster: { server: `127.0.0.1:${server.port}` } })),
  "no scheme, and a path": asCluster(({ url }) => ({ server: url.replace("https://", "") })),
  "a certificate without a key": asUser(() => ({ "client-certificate-data": base64(ann.certificate) })),
  "a certificate that is none": asUser(() => ({
    "client-certificate-data": base64("no"),
    "client-key-data": base64("no"),
  })),
  "a key of another": asUser(() => ({
    "client-certificate-data": base64(ann.certificate),
    "client-key-data": base64(server.authority.issue({ commonName: "bob" }).key),
  })),
  "a token and a password": asUser(() => ({ token: "t", username: "ann", password: "p" })),
  "groups to act as of no user": asUser(() => ({ token: "t", "as-groups": ["g"] })),
  "extra to act as of no user": asUser(() => ({ token: "t", "as-user-extra": { a: ["b"] } })),
  "a provider that was removed": asUser(() => ({ "auth-provider": { name: "gcp" } })),
  "a provider and a program": asUser(() => ({ "auth-provider": { name: "oidc" }, ...exec() })),
  "a token file that is not there": asUser(() => ({ tokenFile: "gone" })),
  "an empty token file": { files: (row) => ({ config: config(row, { user: { tokenFile: "token" } }), token: "\n" }) },
  "an unknown proxy": asCluster(() => ({ "proxy-url": "socks4://127.0.0.1:1" })),
  "a proxy without a scheme": asCluster(() => ({ "proxy-url": "127.0.0.1:1" })),
  "a program without a command": asUser(() => exec({ command: "" })),
  "a program without a version": asUser(() => exec({ apiVersion: "" })),
  "a program of a removed version": withPlugin(
    exec({ apiVersion: "client.authentication.k8s.io/v1alpha1" }),
    plugin({ token: "p" }, "client.authentication.k8s.io/v1alpha1"),
  ),
  "a program without an interactiveMode": withPlugin(exec({ interactiveMode: "" }), plugin({ token: "p" })),
  "a program of an unknown interactiveMode": withPlugin(exec({ interactiveMode: "Sometimes" }), plugin({ token: "p" })),
  "a program that must have a terminal": withPlugin(exec({ interactiveMode: "Always" }), plugin({ token: "p" })),
  "a program with a variable without a name": withPlugin(exec({ env: [{ value: "x" }] }), plugin({ token: "p" })),
  "a program that is not there": asUser(() => exec({ command: "./gone.sh", installHint: "get it there" })),
  "a program that fails": withPlugin(exec(), "#!/bin/sh\necho no >&2\nexit 3\n"),
  "a program that prints garbage": withPlugin(exec(), "#!/bin/sh\necho garbage\n"),
  "a program that prints nothing": withPlugin(exec(), "#!/bin/sh\n"),
  "a program that prints another kind": withPlugin(exec(), plugin({ token: "p" }).replace('"ExecCredential"', '"Pod"')),
  "a program that prints another version": withPlugin(exec(), plugin({ token: "p" }, V1BETA1)),
  "a program that prints no status": withPlugin(
    exec(),
    `#!/bin/sh\necho '{"apiVersion":"${V1}","kind":"ExecCredential"}'\n`,
  ),
  "a program that prints an empty status": withPlugin(exec(), plugin({})),
  "a program that prints half a certificate": withPlugin(exec(), plugin({ token: "p", clientCertificateData: "x" })),
  "a program that prints a certificate that is none": withPlugin(
    exec(),
    plugin({ clientCertificateData: "x", clientKeyData: "y" }),
  ),
  "a program that prints an end that is no time": withPlugin(
    exec(),
    plugin({ token: "p", expirationTimestamp: "soon" }),
  ),
  "a program that prints a number as a token": withPlugin(exec(), plugin({ token: 5 })),
};

test.concurrent.each(Object.keys(cases))("%s is refused", { timeout: 60_000 }, async (name) => {
  const { kubectl: theirs, ours } = await tryBoth(cases[name] as Case, isFull);
  if (theirs !== undefined) expect(theirs.error).toBeDefined();
  expect(ours.error).toMatch(/^\w*Error\b/);
  expect(ours.error).not.toMatch(/^(TypeError|RangeError)/);
  expect(ours.requests).toEqual([]);
});
