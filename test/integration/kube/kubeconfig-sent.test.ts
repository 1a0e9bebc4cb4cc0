import { join } from "node:path";
import { expect, test } from "vitest";
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

// Kubeconfigs of which the server must see the same by kubectl and by our client.

useTrial();

const cases: Readonly<Record<string, Case>> = {
  "a token": one(() => ({})),
  "a client certificate as data": asUser(() => ({
    "client-certificate-data": base64(ann.certificate),
    "client-key-data": base64(ann.key),
  })),
  "files beside the kubeconfig": {
    files: (row) => ({
      "deep/config": config(row, {
        cluster: { server: row.url, "certificate-authority": "../ca.pem" },
        user: { "client-certificate": "ann.crt", "client-key": "./keys/ann.key", tokenFile: "token" },
      }),
      "ca.pem": server.authority.certificate,
      "deep/ann.crt": ann.certificate,
      "deep/keys/ann.key": ann.key,
      "deep/token": "of a file\n",
    }),
    paths: ["deep/config"],
  },
  "a token and a token file": {
    files: (row) => ({ config: config(row, { user: { token: "t", tokenFile: "token" } }), token: "of a file" }),
  },
  "a token and a token file that is not there": one(() => ({ user: { token: "t", tokenFile: "token" } })),
  "a token and a program": withPlugin({ token: "t", ...exec() }, plugin({ token: "of a program" })),
  "a client certificate and a program": {
    files: (row) => ({
      config: config(row, {
        user: {
          "client-certificate-data": base64(ann.certificate),
          "client-key-data": base64(ann.key),
          ...exec(),
        },
      }),
      "plugin.sh": plugin({ token: "of a program" }),
    }),
  },
  "a user name and a password": asUser(() => ({ username: "ann", password: "s3cret:x" })),
  "a user to act as": asUser(() => ({ token: "t", as: "bob" })),
  "a user, groups, uid and extra to act as": asUser(() => ({
    token: "t",
    as: "system:serviceaccount:a:b",
    "as-uid": "7",
    "as-groups": ["one", "two"],
    "as-user-extra": { "example.com/Scope of": ["x", "y"], plain: ["z"] },
  })),
  "a name for TLS": asCluster(() => ({ "tls-server-name": "api.internal.example" })),
  "an address by name": asCluster(({ url }) => ({ server: url.replace("127.0.0.1", "localhost") })),
  "a certificate that is not verified": one(({ url }) => ({
    cluster: { server: url, "insecure-skip-tls-verify": true },
  })),
  "a slash at the end": asCluster(({ url }) => ({ server: `${url}/` })),
  "compression turned off": asCluster(() => ({ "disable-compression": true })),
  "extensions of other tools": one(({ url }) => ({
    cluster: {
      server: url,
      "certificate-authority-data": ca(),
      extensions: [{ name: "cluster_info", extension: { provider: "minikube.sigs.k8s.io" } }],
    },
    more: { extensions: [{ name: "x", extension: 5 }], preferences: { colors: true } },
  })),
  "an HTTP proxy": asCluster(() => ({ "proxy-url": `http://127.0.0.1:${server.httpProxy}` })),
  "an HTTP proxy with a password": asCluster(() => ({
    "proxy-url": `http://a%40b:p%3A@127.0.0.1:${server.httpProxy}`,
  })),
  "an HTTPS proxy of the cluster's authority": asCluster(() => ({
    "proxy-url": `https://127.0.0.1:${server.httpsProxy}`,
  })),
  "a SOCKS proxy": asCluster(() => ({ "proxy-url": `socks5://127.0.0.1:${server.socksProxy}` })),
  "a proxy, whatever NO_PROXY says": {
    ...asCluster(() => ({ "proxy-url": `http://127.0.0.1:${server.httpProxy}` })),
    env: () => ({ NO_PROXY: "*" }),
  },
  "a proxy and a name for TLS": asCluster(() => ({
    "proxy-url": `http://127.0.0.1:${server.httpProxy}`,
    "tls-server-name": "api.internal.example",
  })),
  "a program on the PATH": {
    files: (row) => ({
      config: config(row, { user: exec({ command: "there.sh" }) }),
      "bin/there.sh": plugin({ token: "p" }),
    }),
    env: (row) => ({ PATH: `${join(row.folder, "bin")}:${process.env.PATH}` }),
  },
  "a program with arguments and variables": {
    files: (row) => ({
      config: config(row, {
        user: exec({ args: ["one two", "$HOME"], env: [{ name: "WHO", value: "ann" }] }),
      }),
      "plugin.sh": `#!/bin/sh\nprintf '{"apiVersion":"${V1}","kind":"ExecCredential","status":{"token":"%s-%s-%s"}}' "$1" "$2" "$WHO"\n`,
    }),
  },
  "a program that wants nothing of the cluster": withPlugin(exec(), plugin({ token: "p" })),
  "a program of the older version": withPlugin(
    { exec: { apiVersion: V1BETA1, command: "./plugin.sh", provideClusterInfo: true } },
    plugin({ token: "p" }, V1BETA1),
  ),
  "a program that wants all of the cluster": withPlugin(
    exec({ provideClusterInfo: true }),
    plugin({ token: "p" }),
    ({ url }) => ({
      server: url,
      "certificate-authority": "ca.pem",
      "tls-server-name": "api.internal.example",
      "proxy-url": `socks5://127.0.0.1:${server.socksProxy}`,
      "disable-compression": true,
      extensions: [
        { name: "other", extension: { no: true } },
        { name: "client.authentication.k8s.io/exec", extension: { audience: "prod-eu", list: [1, "two", null] } },
      ],
    }),
  ),
  "a program that wants all of a cluster that is not verified": withPlugin(
    exec({ provideClusterInfo: true }),
    plugin({ token: "p" }),
    ({ url }) => ({ server: url, "insecure-skip-tls-verify": true }),
  ),
  "a program that gives a certificate": {
    files: (row) => ({
      config: config(row, { user: exec({ interactiveMode: "Never" }) }),
      "plugin.sh": plugin({ clientCertificateData: ann.certificate, clientKeyData: ann.key }),
    }),
  },
  "a program that writes on standard error too": withPlugin(
    exec(),
    plugin({ token: "p" }).replace("#!/bin/sh\n", "#!/bin/sh\necho 'a newer version exists' >&2\n"),
  ),
  "a program whose answer has expired": withPlugin(
    exec(),
    plugin({ token: "p", expirationTimestamp: "2020-01-01T00:00:00Z" }),
  ),
  "two files, of which the first says all": {
    files: (row) => ({ config: config(row), other: config(row, { user: { token: "other" } }) }),
    paths: ["config", "other"],
  },
  "two files with half a user each": {
    files: (row) => ({
      config: { ...config(row, { user: { token: "t" } }), "current-context": "" },
      other: config(row, { user: { token: "other", as: "bob" }, context: { user: "u" } }),
    }),
    paths: ["config", "other"],
  },
  "three files with a part each": {
    files: (row) => {
      const { users, clusters, ...rest } = config(row) as { users: object; clusters: object };
      return { a: { users }, b: { clusters }, c: rest };
    },
    paths: ["a", "b", "c"],
  },
  "a path of the second file's folder": {
    files: (row) => ({
      one: { apiVersion: "v1", kind: "Config" },
      "two/config": config(row, { user: { tokenFile: "token" } }),
      "two/token": "of two",
      token: "of one",
    }),
    paths: ["one", "two/config"],
  },
  "a file that is not there, an empty one and an empty name": {
    files: (row) => ({ empty: "", config: config(row) }),
    paths: ["missing", "", "empty", "config"],
  },
  "the same file twice": { files: (row) => ({ config: config(row) }), paths: ["config", "config"] },
  "no KUBECONFIG: the file at home": {
    files: (row) => ({ ".kube/config": config(row) }),
    env: () => ({ KUBECONFIG: "" }),
  },
  "a mark of byte order and CRLF": {
    files: (row) => ({ config: `\ufeff${JSON.stringify(config(row), null, 2).replaceAll("\n", "\r\n")}` }),
  },
  "a file in UTF-16": { files: (row) => ({ config: Buffer.from(`\ufeff${JSON.stringify(config(row))}`, "utf16le") }) },
  "YAML with anchors, comments and a key that comes twice": {
    files: ({ url }) => ({
      config: `# mine\napiVersion: v1\nkind: Config\ncurrent-context: it\ncurrent-context: it\nclusters:\n- name: c\n  cluster: &c {server: "${url}", certificate-authority-data: ${ca()}}\n- {name: d, cluster: *c}\nusers:\n- name: u\n  user:\n    token: >-\n      folded\ncontexts:\n- name: it\n  context: {cluster: d, user: u}\n`,
    }),
  },
  "a key in another case": asCluster(({ url }) => ({ Server: "https://127.0.0.1:1", server: url })),
  "fields that nobody knows": asUser(() => ({ token: "t", shiny: { new: true } })),
  "null where a text may be": asUser(() => ({ token: "t", as: null, "client-certificate": null, exec: null })),
  "a namespace of the context": one(() => ({ context: { namespace: "shop" } })),
};

test.concurrent.each(Object.keys(cases))("with %s we send what kubectl sends", { timeout: 60_000 }, async (name) => {
  const { kubectl: theirs, ours } = await tryBoth(cases[name] as Case);
  expect(theirs?.error).toBeUndefined();
  expect(theirs?.requests).toHaveLength(1);
  expect(ours).toEqual(theirs);
});
