{{/* Debug sessions: what cannot work, the tunnel's spool and its environment. */}}
{{- define "sallyport.debugGuards" -}}
{{- $values := .Values -}}
{{- $debug := $values.debugSessions -}}
{{- range $where, $namespace := dict "the release's namespace" (include "sallyport.namespace" .) "grantsNamespace" $values.grantsNamespace -}}
{{- if eq $namespace "sallyport-debug" -}}
{{- fail (printf "%s is sallyport-debug, which holds the accounts of debug sessions and nothing else: choose another." $where) -}}
{{- end -}}
{{- end -}}
{{- if $debug.enabled -}}
{{- if ne $values.lending.mode "operator" -}}
{{- fail (printf "debugSessions.enabled is true and lending.mode is %s: the role of a debug session is lent by the operator alone. Choose --set lending.mode=operator, or leave debug sessions off." $values.lending.mode) -}}
{{- end -}}
{{- if not (include "sallyport.debugModes" .) -}}
{{- fail "debugSessions.enabled is true and every mode of debugSessions.modes is off: switch one on, or leave debug sessions off." -}}
{{- end -}}
{{- $unit := dict "h" 3600 "m" 60 "s" 1 "ms" 0 -}}
{{- $seconds := mul (regexFind "^[0-9]+" $debug.maxTTL | int64) (get $unit (regexFind "[a-z]+$" $debug.maxTTL)) -}}
{{- if or (lt $seconds 60) (gt $seconds 28800) -}}
{{- fail (printf "debugSessions.maxTTL is %s: it must be between 1m and 8h." $debug.maxTTL) -}}
{{- end -}}
{{- $idle := mul (regexFind "^[0-9]+" $debug.idle | int64) (get $unit (regexFind "[a-z]+$" $debug.idle)) -}}
{{- if or (lt $idle 1) (gt $idle 900) -}}
{{- fail (printf "debugSessions.idle is %s: it must be between 1s and 15m, after which the vendor's platform ends a silent session." $debug.idle) -}}
{{- end -}}
{{- if eq $values.rbac.scope "namespaces" -}}
{{- fail "debugSessions.enabled is true and rbac.scope is namespaces: the roles of the modes are ClusterRoles. Choose rbac.scope=cluster, or leave debug sessions off." -}}
{{- end -}}
{{- range $component := list "agent" "operator" -}}
{{- if eq (include "sallyport.account" (dict "root" $ "component" "tunnel")) (include "sallyport.account" (dict "root" $ "component" $component)) -}}
{{- fail (printf "tunnel and %s have the same ServiceAccount: they need two, as the tunnel makes tokens for the accounts of debug sessions." $component) -}}
{{- end -}}
{{- end -}}
{{- if and $debug.audit.existingClaim (gt (int $values.tunnel.replicas) 1) -}}
{{- fail (printf "debugSessions.audit.existingClaim is set and tunnel.replicas is %d: two tunnels would write into one spool. Choose --set tunnel.replicas=1, or leave the claim away." (int $values.tunnel.replicas)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Modes that are on, comma-separated. */}}
{{- define "sallyport.debugModes" -}}
{{- $modes := list -}}
{{- range $mode := list "logs" "read" "exec" "port-forward" -}}
{{- if get $.Values.debugSessions.modes $mode -}}{{- $modes = append $modes $mode -}}{{- end -}}
{{- end -}}
{{- join "," $modes -}}
{{- end -}}

{{/* The component writes into a claim, which one pod at a time may have. (dict "root" $ "component" "tunnel") */}}
{{- define "sallyport.spoolIsClaimed" -}}
{{- if and (eq .component "tunnel") .root.Values.debugSessions.audit.existingClaim -}}x{{- end -}}
{{- end -}}

{{/* An emptyDir has room for what is still being written when the spool is full: beyond its limit the pod is evicted. */}}
{{- define "sallyport.spoolVolume" -}}
{{- $audit := .Values.debugSessions.audit -}}
- name: spool
  {{- if $audit.existingClaim }}
  persistentVolumeClaim:
    claimName: {{ $audit.existingClaim | quote }}
  {{- else }}
  emptyDir:
    sizeLimit: {{ printf "%d%s" (mul 2 (regexFind "^[0-9]+" $audit.size | int)) (regexFind "[A-Za-z]+$" $audit.size) }}
  {{- end }}
{{- end -}}

{{- define "sallyport.tunnelEnv" -}}
{{- $debug := .Values.debugSessions }}
- name: SALLYPORT_TUNNEL_DEBUG_NAMESPACE
  value: sallyport-debug
- name: SALLYPORT_TUNNEL_SPOOL_FOLDER
  value: /var/lib/sallyport/spool
- name: SALLYPORT_TUNNEL_SPOOL_SIZE
  value: {{ $debug.audit.size | quote }}
- name: SALLYPORT_TUNNEL_SESSION_SPOOL_SIZE
  value: {{ $debug.audit.sessionSize | quote }}
- name: SALLYPORT_TUNNEL_IDLE
  value: {{ $debug.idle | quote }}
- name: SALLYPORT_TUNNEL_MAX_TTL
  value: {{ $debug.maxTTL | quote }}
- name: SALLYPORT_TUNNEL_MAX_CONCURRENT
  value: {{ $debug.maxConcurrent | quote }}
- name: SALLYPORT_TUNNEL_RECORDING
  value: {{ $debug.recording | quote }}
- name: SALLYPORT_TUNNEL_UPLOAD
  value: {{ $debug.upload | quote }}
- name: SALLYPORT_TUNNEL_UPLOAD_HOSTS
  value: {{ join "," $debug.uploadHosts | quote }}
- name: SALLYPORT_TUNNEL_STRICT
  value: {{ $debug.strict | quote }}
{{- end -}}

{{- define "sallyport.operatorDebugEnv" -}}
{{- $debug := .Values.debugSessions }}
- name: SALLYPORT_OPERATOR_DEBUG_ENABLED
  value: "true"
- name: SALLYPORT_OPERATOR_DEBUG_NAMESPACE
  value: sallyport-debug
- name: SALLYPORT_OPERATOR_DEBUG_MODES
  value: {{ include "sallyport.debugModes" . | quote }}
- name: SALLYPORT_OPERATOR_DEBUG_MAX_TTL
  value: {{ $debug.maxTTL | quote }}
- name: SALLYPORT_OPERATOR_DEBUG_MAX_CONCURRENT
  value: {{ $debug.maxConcurrent | quote }}
{{- end -}}
