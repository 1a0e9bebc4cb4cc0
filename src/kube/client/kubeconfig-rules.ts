import type { KubeconfigCluster, KubeconfigUser } from "./kubeconfig-fields.ts";

// What kubectl refuses before it sends anything (client-go, clientcmd/validation.go): two ways to say one thing of which
// one would be ignored, and halves.

/** What is wrong with the cluster; undefined: nothing. */
export function clusterProblem(cluster: KubeconfigCluster): string | undefined {
  const { name, server, caData, caFile, skipTlsVerify, proxyUrl } = cluster;
  if (server === "") return `its cluster ${name} has no server`;
  if (!/^https?:\/\/./i.test(server)) {
    // kubectl takes it as http, and sends the token in the clear.
    return `its cluster ${name} has a server that does not begin with https://`;
  }
  if (caData !== undefined && caFile !== undefined) {
    return `its cluster ${name} has certificate-authority and certificate-authority-data; keep one`;
  }
  if (skipTlsVerify && (caData !== undefined || caFile !== undefined)) {
    return `its cluster ${name} has a certificate authority and insecure-skip-tls-verify; keep one`;
  }
  if (proxyUrl !== undefined && !/^(https?|socks5):\/\/./.test(proxyUrl)) {
    return `its cluster ${name} has a proxy of a kind that is not known here: http, https or socks5`;
  }
  return undefined;
}

/** What is wrong with the user; undefined: nothing. */
export function userProblem(user: KubeconfigUser): string | undefined {
  const { certData, certFile, keyData, keyFile, token, username, password, authProvider, exec } = user;
  if (certData !== undefined && certFile !== undefined) {
    return "it has client-certificate and client-certificate-data; keep one";
  }
  const [hasCert, hasKey] = [certData ?? certFile, keyData ?? keyFile].map((each) => each !== undefined);
  if (hasCert && keyData !== undefined && keyFile !== undefined) {
    return "it has client-key and client-key-data; keep one";
  }
  if (hasCert && !hasKey) return "it has a client certificate without its key (client-key)";
  if (token !== undefined && (username !== undefined || password !== undefined)) {
    return "it has a token and a user name with a password; keep one";
  }
  if (exec !== undefined && authProvider !== undefined) return "it has an exec plugin and an auth-provider; keep one";
  const { user: as, uid, groups, extra } = user.impersonate;
  if (as === undefined && (uid !== undefined || groups.length > 0 || Object.keys(extra).length > 0)) {
    return "it acts as groups, a uid or more (as-groups, as-uid, as-user-extra) of no user; name one (as)";
  }
  return undefined;
}
