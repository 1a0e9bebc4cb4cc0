import { soon } from "../cast.ts";
import { bash } from "../command.ts";
import type { Scene } from "../scene.ts";
import type { Box } from "./box.ts";

/** What openssl needs to sign with the cluster's authority and choose both ends of the time itself. */
const SIGN = `
  rm -rf /tmp/aged; mkdir -p /tmp/aged; cd /tmp/aged
  cat >request; : >index; echo "$(date +%s)" >serial
  cat >conf <<'END'
[ca]
default_ca = aged
[aged]
dir = /tmp/aged
database = /tmp/aged/index
serial = /tmp/aged/serial
new_certs_dir = /tmp/aged
certificate = /etc/kubernetes/pki/ca.crt
private_key = /etc/kubernetes/pki/ca.key
default_md = sha256
policy = names
x509_extensions = client
[names]
organizationName = supplied
commonName = supplied
[client]
keyUsage = critical,digitalSignature
extendedKeyUsage = clientAuth
END
  at() { date -u -d "$1" +%Y%m%d%H%M%SZ; }
  openssl ca -batch -notext -config conf -in request -startdate "$(at -23hours)" -enddate "$(at +1hour)" -out certificate 2>/tmp/aged/said || { cat /tmp/aged/said >&2; exit 1; }
  cat certificate; rm -r /tmp/aged`;

/** Where the kubelet finds its certificate. */
export const CURRENT = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/** Gives the machine the certificate that it would have 23 hours after it joined, in place of the one of now. */
export async function ageCertificate(scene: Scene, box: Box): Promise<void> {
  const key = "/var/lib/sallyport/machine/key.pem";
  const request = await box.run(`openssl req -new -key ${key} -subj /O=system:nodes/CN=system:node:${box.name}`);
  const container = `${scene.cluster.name}-control-plane`;
  const env = { ...scene.docker, CONTAINER: container, SIGN };
  const script = 'docker exec --interactive "$CONTAINER" sh -euc "$SIGN"';
  const certificate = await bash(script, { env, stdin: request }, soon());
  await box.run(`cat - ${key} >"$(readlink -f ${CURRENT})"`, certificate);
}
