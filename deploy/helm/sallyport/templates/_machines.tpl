{{/* Machines: what cannot work, and the environment of the machine controller and the join server. */}}
{{- define "sallyport.machinesGuards" -}}
{{- $values := .Values -}}
{{- if $values.machines.enabled -}}
{{- if eq $values.rbac.scope "namespaces" -}}
{{- fail "machines.enabled is true and rbac.scope is namespaces: nodes are of no namespace. Choose rbac.scope=cluster, or leave machines off." -}}
{{- end -}}
{{- if not $values.join.url -}}
{{- fail "machines.enabled is true and join.url is not set: add --set join.url=https://… with the address at which machines reach the join server." -}}
{{- end -}}
{{- range $one := list "machines" "join" -}}
{{- range $component := without (include "sallyport.components" $ | fromJsonArray) $one -}}
{{- if eq (include "sallyport.account" (dict "root" $ "component" $one)) (include "sallyport.account" (dict "root" $ "component" $component)) -}}
{{- fail (printf "%s and %s have the same ServiceAccount: they need two, or a stolen one could do what both may." $one $component) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if has (int $values.join.port) (list (int $values.join.healthPort) (int $values.join.metricsPort)) -}}
{{- fail (printf "join.port is %d, which join.healthPort or join.metricsPort is too: choose another." (int $values.join.port)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "sallyport.machinesEnv" }}
- name: SALLYPORT_MACHINES_DRAIN_ENABLED
  value: {{ .Values.machines.drain.enabled | quote }}
{{- end -}}

{{- define "sallyport.joinEnv" }}
- name: SALLYPORT_JOIN_URL
  value: {{ .Values.join.url | quote }}
- name: SALLYPORT_JOIN_PORT
  value: {{ .Values.join.port | quote }}
- name: SALLYPORT_JOIN_API_SERVER
  value: {{ .Values.join.apiServer | quote }}
- name: SALLYPORT_JOIN_LEAVE
  value: {{ .Values.join.leave | quote }}
- name: SALLYPORT_JOIN_CLUSTER_DNS
  value: {{ .Values.join.clusterDNS | quote }}
- name: SALLYPORT_JOIN_CLUSTER_DOMAIN
  value: {{ .Values.proxy.clusterDomain | quote }}
{{- if .Values.join.tls.existingSecret }}
- name: SALLYPORT_JOIN_TLS_FOLDER
  value: /var/run/sallyport/join-tls
{{- end }}
{{- end -}}
