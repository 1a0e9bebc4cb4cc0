/** Whether a URL's `hostname` is this machine's own, which no other machine can answer for. IPv6 with or without brackets. */
export function isLoopbackHost(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/.test(hostname);
}

/** An http address on this machine: unencrypted, but on no network. @throws TypeError for what is no URL */
export function isPlainLoopback(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && isLoopbackHost(hostname);
}
