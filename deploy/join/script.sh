#!/bin/sh
# Lets this machine join a Kubernetes cluster through Sallyport's join server. Needs: curl 7.44 or newer, openssl, systemd,
# containerd and kubelet. The token is sent only to the server whose key the join string names, and never stands in argv.
set -u
umask 077
# For tests: where the root of the file system is, and how long things are waited for.
root=${SALLYPORT_JOIN_ROOT:-}
retry_for=${SALLYPORT_JOIN_RETRY_SECONDS:-900} ready_for=${SALLYPORT_JOIN_READY_SECONDS:-120}
longest_pause=${SALLYPORT_JOIN_LONGEST_PAUSE:-30}
state=$root/var/lib/sallyport/machine client=$root/var/lib/kubelet/pki/kubelet-client-current.pem
kubeconfig=$root/etc/kubernetes/kubelet.conf authority=$root/etc/kubernetes/pki/ca.crt

usage() {
  cat <<'END'
usage: script.sh --token-file FILE [options]
Joins this machine to the cluster that the join string (spj1_...) in FILE names. FILE must be for root alone (mode 0600) and is
deleted once the machine has joined; - reads standard input. Without --token-file the variable SALLYPORT_JOIN_STRING is read.
  --node-name NAME    name of the node; default: the host name
  --machine-id ID     name of the machine at the platform; default: the node's name
  --wait SECONDS      how long to wait for the customer's approval; default 86400
  --replace           also if this machine is a node of another cluster, which it leaves
  --dry-run           checks the machine and the server, sends no token and writes nothing
Exit codes: 0 joined; 10 wrong use; 11 join string; 12 system; 13 kubelet or containerd; 14 another cluster; 15 server not
reached, or another key; 16 clock; 17 refused; 18 no approval in time; 19 files not written, or the node is not Ready.
END
}
fail() { printf 'sallyport: %s\n' "$2" >&2; exit "$1"; }
say() { printf 'sallyport: %s\n' "$*"; }
unread() { fail 15 "the join server's answer cannot be read: run the script of this server's version"; }

token_file='' node='' machine='' wait_for=86400 replace='' dry=''
while [ $# -gt 0 ]; do
  case $1 in --token-file | --node-name | --machine-id | --wait) [ $# -ge 2 ] || fail 10 "$1 has no value; see --help" ;; esac
  case $1 in
    --token-file) token_file=$2; shift ;;
    --node-name) node=$2; shift ;;
    --machine-id) machine=$2; shift ;;
    --wait) wait_for=$2; shift ;;
    --replace) replace=1 ;;
    --dry-run) dry=1 ;;
    --help | -h) usage; exit 0 ;;
    # Not repeated: it may be a token.
    *) fail 10 "an argument is not known; see --help" ;;
  esac
  shift
done
case $wait_for in '' | *[!0-9]*) fail 10 "--wait needs a number of seconds" ;; esac
matches() { printf '%s\n' "$1" | LC_ALL=C grep -Eqx "$2"; }
has() { command -v "$1" >/dev/null 2>&1; }
now() { date +%s; }
# Begins a row of tries of $1 seconds.
begin() { until=$(($(now) + $1)) most=2; }
# A pause before the next try, by chance: machines that were turned away together do not come back together. False: time is over.
again() {
  [ "$(now)" -lt "$until" ] || return 1
  [ "$most" -le "$longest_pause" ] || most=$longest_pause
  sleep $(($(od -An -N2 -tu2 /dev/urandom | tr -d ' ') % (most + 1)))
  most=$((most * 2 + 1))
}
check_system() {
  [ "$(uname -s)" = Linux ] || fail 12 "this is not Linux: run it on the machine that joins"
  [ "$(id -u)" = 0 ] || fail 12 "this is not root: run it with sudo"
  for tool in curl openssl systemctl base64 od; do has $tool || fail 12 "there is no $tool: install it"; done
  [ -d "$root/run/systemd/system" ] || fail 12 "systemd does not run this machine: boot it with systemd"
  [ -f "$root/sys/fs/cgroup/cgroup.controllers" ] || [ -d "$root/sys/fs/cgroup/memory" ] || fail 12 "there are no cgroups: boot with systemd.unified_cgroup_hierarchy=1"
  [ -f "$root/sys/fs/cgroup/cgroup.controllers" ] || say "warning: cgroups v1: kubelet 1.35 and newer do not start there, unless a file in /etc/kubernetes/kubelet.conf.d says failCgroupV1: false (or boot with systemd.unified_cgroup_hierarchy=1)"
  [ "$(sed 1d "$root/proc/swaps" 2>/dev/null | wc -l)" -eq 0 ] || fail 12 "swap is on: swapoff -a, and take it out of /etc/fstab"
  [ "$(cat "$root/proc/sys/net/ipv4/ip_forward" 2>/dev/null)" = 1 ] || fail 12 "packets are not forwarded: sysctl -w net.ipv4.ip_forward=1"
  [ -e "$root/proc/sys/net/bridge/bridge-nf-call-iptables" ] || say "warning: br_netfilter is not loaded; some network plugins want it (modprobe br_netfilter)"
  has kubelet || fail 13 "there is no kubelet: install the one of the cluster's version"
  systemctl cat kubelet.service >/dev/null 2>&1 || fail 13 "systemd has no kubelet.service: install the kubelet's package"
  [ -S "$root/run/containerd/containerd.sock" ] || fail 13 "containerd does not listen: systemctl enable --now containerd"
  kubelet_version=$(kubelet --version 2>/dev/null | sed -n 's/^Kubernetes v//p')
  matches "$kubelet_version" '[0-9]+\.[0-9]+\..*' || fail 13 "kubelet --version says nothing: install it again"
}
check_names() {
  [ -n "$node" ] || node=$(hostname 2>/dev/null | cut -d. -f1 | tr '[:upper:]' '[:lower:]')
  matches "$node" '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?' || fail 10 "the node's name must be one DNS label: --node-name NAME"
  [ -n "$machine" ] || machine=$node
  matches "$machine" '[A-Za-z0-9][A-Za-z0-9._-]{0,127}' || fail 10 "the machine's id has signs that it may not have: --machine-id ID"
}
read_join_string() {
  case $token_file in
    '') joining=${SALLYPORT_JOIN_STRING:-}; unset SALLYPORT_JOIN_STRING ;;
    -) joining=$(cat) ;;
    *)
      [ -f "$token_file" ] || fail 11 "the token file is not there: write the join string into it"
      case $(ls -lnd "$token_file") in -r[w-]-------*) ;; *) fail 11 "others may read the token file: chmod 600 it, and rotate the token" ;; esac
      joining=$(cat "$token_file") ;;
  esac
  matches "$joining" 'spj1_[A-Za-z0-9_-]+' || fail 11 "that is no join string (spj1_...): copy it whole"
  encoded=$(printf %s "${joining#spj1_}" | tr '_-' '/+')
  while [ $((${#encoded} % 4)) -ne 0 ]; do encoded=$encoded=; done
  decoded=$(printf %s "$encoded" | base64 -d 2>/dev/null) || fail 11 "the join string is damaged: copy it whole"
  part() { printf '%s\n' "$decoded" | sed -n "s#.*\"$1\":\"\\{0,1\\}\\([^\",}]*\\).*#\\1#p"; }
  token=$(part token) url=$(part url) cluster=$(part clusterId) pin=$(part pin) expires=$(part exp)
  {
    matches "$token" '[A-Za-z0-9._-]{8,128}' && matches "$url" 'https://[]A-Za-z0-9.:[-]+' && matches "$cluster" '[A-Za-z0-9._-]+' &&
      matches "$pin" 'sha256//[A-Za-z0-9+/]{43}=' && matches "$expires" '[0-9]+'
  } || fail 11 "the join string is damaged: copy it whole"
}
# call METHOD PATH OUT [curl's options]: the HTTP status, 000 without an answer. The server's key is checked before a byte is
# sent to it, although no authority has signed its certificate; a ~/.curlrc has no say.
call() {
  method=$1 path=$2 out=$3; shift 3; rm -f "$out"
  curl -q -gsS --proto =https --pinnedpubkey "$pin" --insecure --connect-timeout 10 --max-time 45 --max-filesize 262144 \
    -X "$method" -H 'Accept: text/plain' -o "$out" -w '%{http_code}' "$@" "$url$path" </dev/null 2>"$tmp/error" || {
    case $? in
      90) fail 15 "the server has another key than the join string says; nothing was sent: ask for a new join string" ;;
      2 | 4) fail 12 "this curl cannot compare keys: install curl 7.44 or newer" ;;
    esac
  }
}
field() { sed -n "s/^$1 //p" "$2" | base64 -d 2>/dev/null; }
# What the server says, without signs that a terminal reads.
words() { field message "$1" | LC_ALL=C tr -cd ' -~' | cut -c1-600; }

greet() {
  begin "$retry_for"
  until status=$(call GET /v1/hello "$tmp/hello") || exit $?; [ "$status" = 200 ]; do
    again || fail 15 "the join server at $url does not answer ($(cut -c1-200 "$tmp/error")): open the way to it"
  done
  skew=$(($(field now "$tmp/hello") - $(now)))
  [ "${skew#-}" -le 60 ] || fail 16 "this machine's clock is ${skew#-} s off: set it (timedatectl set-ntp true)"
  server=$(field serverVersion "$tmp/hello" | sed 's/^v//')
  matches "$server" '[0-9]+\.[0-9]+.*' || return 0
  ours=$(printf %s "$kubelet_version" | cut -d. -f2) theirs=$(printf %s "$server" | cut -d. -f2 | tr -cd 0-9)
  { [ "$ours" -le "$theirs" ] && [ $((theirs - ours)) -le 3 ]; } ||
    fail 13 "kubelet $kubelet_version does not fit the API server's $server: install one that is not newer and at most 3 minor versions older"
}
make_key() {
  { mkdir -p "$state" 2>/dev/null && chmod 700 "$state" && : >"$state/.writable" 2>/dev/null && rm "$state/.writable"; } ||
    fail 12 "$state cannot be written: give the machine a writable /var/lib"
  [ -s "$state/key.pem" ] || {
    openssl ecparam -name prime256v1 -genkey -noout 2>/dev/null | openssl pkcs8 -topk8 -nocrypt -out "$state/key.new" 2>/dev/null &&
      mv -f "$state/key.new" "$state/key.pem"
  } || fail 12 "openssl makes no key: install openssl 1.0.2 or newer"
  printf '[req]\nprompt=no\nstring_mask=utf8only\ndistinguished_name=dn\n[dn]\nO=system:nodes\nCN=system:node:%s\n' "$node" >"$tmp/request.conf"
  openssl req -new -sha256 -key "$state/key.pem" -config "$tmp/request.conf" -outform DER -out "$tmp/request.der" 2>/dev/null ||
    fail 12 "openssl makes no certificate request: delete $state/key.pem and run this again"
  say "the machine's key: $(openssl pkey -in "$state/key.pem" -pubout -outform DER 2>/dev/null | openssl dgst -sha256 | sed 's/.* //')"
}
fact() { printf '%s"%s":"%s"' "$1" "$2" "$(printf %s "$3" | LC_ALL=C tr -cd 'A-Za-z0-9 ._:/+~()-' | cut -c1-128)"; }
ask() {
  system=$(sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\).*/\1/p' "$root/etc/os-release" 2>/dev/null) address=$(hostname -I 2>/dev/null | cut -d' ' -f1)
  {
    printf '{"machineId":"%s","nodeName":"%s","request":"%s","facts":{' "$machine" "$node" "$(base64 <"$tmp/request.der" | tr -d '\n')"
    fact '' os "${system:-Linux}"; fact , arch "$(uname -m)"; fact , kernel "$(uname -r)"; fact , kubelet "$kubelet_version"
    fact , runtime "$(containerd --version 2>/dev/null | cut -d' ' -f1,3)"; [ -z "$address" ] || fact , address "$address"; printf '}}'
  } >"$tmp/body"
  printf 'header = "Authorization: Join %s"\n' "$token" >"$tmp/header"
  begin "$retry_for"
  until status=$(call POST /v1/join "$tmp/asked" -K "$tmp/header" -H 'Content-Type: application/json' --data-binary "@$tmp/body") || exit $?; [ "$status" = 202 ]; do
    case $status in 400 | 401 | 403 | 409 | 413) fail 17 "refused: $(words "$tmp/asked")" ;; esac
    again || fail 15 "the join server does not take the machine ($status $(words "$tmp/asked")): run this again later"
  done
  rm -f "$tmp/header"
  uid=$(field uid "$tmp/asked"); matches "$uid" '[0-9a-f-]{36}' || unread
  printf '%s %s\n' "$url" "$uid" >"$state/asked.new" && mv -f "$state/asked.new" "$state/asked"
}
# Polls until the customer and the cluster have answered. Returns 1 when the server knows no such join.
await() {
  begin "$wait_for"; seen='' unknown=0
  while :; do
    [ "$(now)" -lt "$until" ] || fail 18 "not let in within $wait_for s: ask the customer, then run this again"
    status=$(call GET "/v1/join/$uid${seen:+?seen=$seen}" "$tmp/answer") || exit $?
    [ "$status" != 404 ] || unknown=$((unknown + 1)); [ $unknown -lt 5 ] || return 1
    [ "$status" != 409 ] || fail 17 "refused: $(words "$tmp/answer")"
    [ "$status" = 200 ] || { again; continue; }
    most=2 unknown=0 was=$seen; seen=$(field state "$tmp/answer")
    case $seen in
      Issued | Joined) return 0 ;;
      # The answer is final for this key: another try is another ask.
      Denied | Expired | Removed) rm -f "$state/key.pem" "$state/asked"; fail 17 "refused: $(words "$tmp/answer")" ;;
      Waiting) [ "$was" = "$seen" ] || { say "waits for the customer, who lets it in with:"; field approve "$tmp/answer" | LC_ALL=C tr -cd ' -~'; echo; } ;;
      Approved | Signing) [ "$was" = "$seen" ] || say "$(words "$tmp/answer")" ;;
      *) unread ;;
    esac
  done
}
# Standard input becomes FILE at once or not at all: put MODE FILE
put() {
  { mkdir -p "${2%/*}" 2>/dev/null && cat >"$2.new" 2>/dev/null && chmod "$1" "$2.new" && mv -f "$2.new" "$2"; } ||
    fail 19 "$2 cannot be written: give the machine a writable ${2%/*}"
}
write_files() {
  answer=$tmp/answer server=$(field apiServer "$tmp/answer") labels=$(field nodeLabels "$tmp/answer")
  { matches "$server" 'https://[]A-Za-z0-9.:[-]+' && matches "$labels" '[A-Za-z0-9._/=,-]*'; } || unread
  field certificate "$answer" >"$tmp/certificate"
  [ "$(openssl x509 -in "$tmp/certificate" -pubkey -noout 2>/dev/null)" = "$(openssl pkey -in "$state/key.pem" -pubout 2>/dev/null)" ] ||
    fail 19 "the certificate is not for this machine's key: run this again"
  openssl x509 -in "$tmp/certificate" -noout -checkend 0 >/dev/null 2>&1 || fail 17 "the certificate of this join has run out: have the machine removed, then run this again with a new token"
  field ca "$answer" | put 644 "$authority" || exit $?
  # A link beside the file, as the kubelet makes them: it renews no certificate whose name is a file itself.
  pem=kubelet-client-$(date -u +%Y-%m-%d-%H-%M-%S).pem
  cat "$tmp/certificate" "$state/key.pem" | put 600 "${client%/*}/$pem" || exit $?
  { ln -sf "$pem" "$client.new" && mv -f "$client.new" "$client"; } || fail 19 "$client cannot be written: delete it"
  field kubeletConfig "$answer" | put 644 "$root/var/lib/kubelet/config.yaml" || exit $?
  flags="--kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml --hostname-override=$node"
  [ -z "$labels" ] || flags="$flags --node-labels=$labels"
  [ ! -d "$root/etc/kubernetes/kubelet.conf.d" ] || flags="$flags --config-dir=/etc/kubernetes/kubelet.conf.d"
  [ ! -f "$root/run/systemd/resolve/resolv.conf" ] || flags="$flags --resolv-conf=/run/systemd/resolve/resolv.conf"
  printf '[Service]\nExecStart=\nExecStart=%s %s\n' "$(command -v kubelet)" "$flags" | put 644 "$root/etc/systemd/system/kubelet.service.d/10-sallyport.conf" || exit $?
  printf '%s\n' "$cluster" | put 644 "$state/cluster" || exit $?
  printf '%s %s %s\n' "$url" "$pin" "$node" | put 644 "$state/server" || exit $?
  pem=${client#"$root"}
  put 600 "$kubeconfig" <<END || exit $?
{apiVersion: v1, kind: Config, current-context: node, contexts: [{name: node, context: {cluster: cluster, user: node}}],
clusters: [{name: cluster, cluster: {server: "$server", certificate-authority: /etc/kubernetes/pki/ca.crt}}],
users: [{name: node, user: {client-certificate: $pem, client-key: $pem}}]}
END
}
start_kubelet() {
  { systemctl daemon-reload && systemctl enable kubelet.service && systemctl restart kubelet.service; } ||
    fail 19 "systemd did not start the kubelet: systemctl status kubelet"
  server=$(sed -n 's/.*server: "\([^"]*\)".*/\1/p' "$kubeconfig")
  begin "$ready_for"
  until curl -q -gsS --proto =https --cacert "$authority" --cert "$client" --key "$client" --max-time 10 "$server/api/v1/nodes/$node?pretty=false" </dev/null 2>"$tmp/error" |
    grep -q '"type":"Ready","status":"True"'; do
    again || fail 19 "the node $node is not Ready after $ready_for s: journalctl -u kubelet; is there a network plugin?"
    [ "$most" -le 4 ] || most=4
  done
}
# Nothing runs before the whole script is here: a connection that breaks leaves half a script, which does nothing.
main() {
  tmp=$(mktemp -d) || fail 12 "there is no room for temporary files: give the machine a writable /tmp"
  trap 'rm -rf "$tmp"' EXIT; trap 'exit 130' INT TERM HUP
  check_system; check_names; read_join_string
  [ ! -f "$kubeconfig" ] || [ -n "$replace" ] || [ "$(cat "$state/cluster" 2>/dev/null)" = "$cluster" ] ||
    fail 14 "this machine is a node of another cluster ($kubeconfig): --replace makes it leave that one"
  if [ -n "$replace" ] || [ ! -f "$kubeconfig" ] || ! openssl x509 -in "$client" -noout -checkend 0 >/dev/null 2>&1; then
    grep -q ':280A 0\{8,32\}:0000 0A' "$root/proc/net/tcp" "$root/proc/net/tcp6" 2>/dev/null && [ ! -f "$kubeconfig" ] && fail 12 "port 10250 is in use: stop what listens there (ss -ltnp)"
    greet
    [ -z "$dry" ] || { say "this machine can join $cluster as $node; nothing was sent or written"; exit 0; }
    make_key
    # An ask of before needs no token: that one may have expired meanwhile.
    uid=$(grep -F "$url " "$state/asked" 2>/dev/null | cut -d' ' -f2)
    if [ -z "$uid" ] || ! await; then
      [ "$expires" -gt "$(now)" ] || fail 11 "the join string has expired: ask for a new one"
      ask
      await || fail 17 "the join was deleted in the cluster: ask the customer, then run this again"
    fi
    write_files
  fi
  [ -z "$dry" ] || { say "this machine has joined already"; exit 0; }
  start_kubelet
  case $token_file in '' | -) ;; *) rm -f "$token_file" ;; esac; rm -f "$state/asked"
  say "the node $node is Ready; to leave the cluster, where the customer has that on: curl -fsS --pinnedpubkey '$pin' -k '$url/v1/leave-script' | sudo sh -s"
}
main
