#!/bin/sh
# Lets this machine leave its cluster: asks the join server, by the node's own certificate, that the node be emptied, waits until
# it is, and stops the kubelet. What runs on it moves as budgets allow; the customer's policy or grant must cover it.
set -u
umask 077
# For tests: where the root of the file system is, and how long things are waited for.
root=${SALLYPORT_JOIN_ROOT:-} retry_for=${SALLYPORT_JOIN_RETRY_SECONDS:-900} pause=${SALLYPORT_JOIN_LONGEST_PAUSE:-5}
state=$root/var/lib/sallyport/machine client=$root/var/lib/kubelet/pki/kubelet-client-current.pem

usage() {
  cat <<'END'
usage: leave.sh [options]
Empties the node of this machine, and stops its kubelet when it is empty. Run again, it goes on with the drain that it asked for.
  --deadline MINUTES  when evictions are over time; 0 means now, and not never. Default: the pool's. No pod is ever deleted by force
  --wait SECONDS      how long to wait for the customer and for the pods; default 86400
Exit codes: 0 left; 10 wrong use; 12 system; 14 no machine that has joined; 15 server not reached, or another key; 17 refused, or
the drain was cancelled; 18 not empty in time: the drain goes on; 19 the kubelet was not stopped.
END
}
fail() { printf 'sallyport: %s\n' "$2" >&2; exit "$1"; }
say() { printf 'sallyport: %s\n' "$*"; }

deadline='' wait_for=86400
while [ $# -gt 0 ]; do
  case $1 in
    --deadline | --wait)
      case ${2:-} in '' | *[!0-9]* | ???????*) fail 10 "$1 needs a number; see --help" ;; esac
      [ "$1" = --wait ] && wait_for=$2 || deadline=$2
      shift ;;
    --help | -h) usage; exit 0 ;;
    *) fail 10 "an argument is not known; see --help" ;;
  esac
  shift
done

# call METHOD PATH [curl's options]: the HTTP status, 000 without an answer. The server's key is checked before a byte is sent.
call() {
  method=$1 path=$2; shift 2; rm -f "$tmp/answer"
  curl -q -gsS --proto =https --pinnedpubkey "$pin" --insecure --cert "$client" --key "$client" --connect-timeout 10 --max-time 45 \
    --max-filesize 262144 -X "$method" -H 'Accept: text/plain' -o "$tmp/answer" -w '%{http_code}' "$@" "$url$path" </dev/null 2>"$tmp/error" || {
    case $? in
      90) fail 15 "the server has another key than this machine joined with; nothing was sent: ask the customer for its pin, and write it into $state/server" ;;
      58) fail 14 "the node's certificate $client cannot be used: $(cut -c1-200 "$tmp/error")" ;;
    esac
  }
}
field() { sed -n "s/^$1 //p" "$tmp/answer" | base64 -d 2>/dev/null | LC_ALL=C tr -cd ' -~\n' | cut -c1-600; }
# What another try may mend. False when it was tried for long enough.
again() { [ "$(date +%s)" -lt "$until" ] && sleep "$pause"; }

ask() {
  until=$(($(date +%s) + retry_for))
  until status=$(call POST "/v1/leave/$node" --data-binary "${deadline:+deadlineMinutes=$deadline}") || exit $?; [ "$status" = 202 ]; do
    case $status in 400 | 401 | 403 | 409) fail 17 "refused: $(field message)" ;; esac
    again || fail 15 "the join server at $url does not take it ($status $(field message)$(cut -c1-200 "$tmp/error")): run this again later"
  done
  uid=$(field uid)
  case $uid in '' | *[!0-9a-f-]*) fail 15 "the join server's answer cannot be read: run the script of this server's version" ;; esac
  { printf '%s\n' "$uid" >"$state/leaving.new" && mv -f "$state/leaving.new" "$state/leaving"; } || fail 12 "$state cannot be written"
}

# Until the node is empty.
await() {
  until=$(($(date +%s) + wait_for)) shown='' unknown=0
  while status=$(call GET "/v1/leave/$node/$uid") || exit $?; do
    case $status in
      200)
        unknown=0 words=$(field message; field blockers | sed 's/^/  /')
        [ "$words" = "$shown" ] || say "$words"
        shown=$words
        case $(field state) in
          Drained) return ;;
          Failed) rm -f "$state/leaving"; fail 17 "run this again to ask anew" ;;
        esac ;;
      404)
        unknown=$((unknown + 1))
        [ $unknown -lt 5 ] || { rm -f "$state/leaving"; fail 17 "the drain was deleted in the cluster: the node stays"; } ;;
      401 | 403 | 409) fail 17 "refused: $(field message)" ;;
    esac
    again || fail 18 "the node is not empty after $wait_for s, and the drain goes on: run this again to wait on"
  done
}

# Nothing runs before the whole script is here: a connection that breaks leaves half a script, which does nothing.
main() {
  [ "$(id -u)" = 0 ] || fail 12 "this is not root: run it with sudo"
  for tool in curl systemctl base64; do command -v $tool >/dev/null 2>&1 || fail 12 "there is no $tool: install it"; done
  { read -r url pin node <"$state/server"; } 2>/dev/null || fail 14 "this machine has not joined a cluster by Sallyport"
  tmp=$(mktemp -d) || fail 12 "there is no room for temporary files: give the machine a writable /tmp"
  trap 'rm -rf "$tmp"' EXIT; trap 'exit 130' INT TERM HUP
  uid=$(cat "$state/leaving" 2>/dev/null)
  [ -n "$uid" ] || ask
  await
  systemctl disable --now kubelet.service || fail 19 "systemd did not stop the kubelet: systemctl status kubelet"
  rm -f "$state/leaving"
  say "the kubelet is stopped. Containers of daemons run on: shut the machine down, or stop containerd."
  say "What is left is the customer's: the node $node is removed with 'sallyport machines remove', or kubectl delete node $node"
}
main
