{{/* Releases: what cannot work, and what the operator is told. */}}
{{- define "sallyport.releasesGuards" -}}
{{- $values := .Values -}}
{{- if $values.releases.enabled -}}
{{- if ne $values.lending.mode "operator" -}}
{{- fail (printf "releases.enabled is true and lending.mode is %s: the role of a rollout is lent by the operator alone. Choose --set lending.mode=operator, or leave releases off." $values.lending.mode) -}}
{{- end -}}
{{- if eq $values.rbac.scope "namespaces" -}}
{{- fail "releases.enabled is true and rbac.scope is namespaces: the role of a rollout is a ClusterRole. Choose rbac.scope=cluster, or leave releases off." -}}
{{- end -}}
{{- if and (hasPrefix "sallyport-" $values.releases.role) (ne $values.releases.role "sallyport-op-release-apply") -}}
{{- fail (printf "releases.role is %s: choose a ClusterRole of your own, or sallyport-op-release-apply. The other roles of Sallyport are lent to others." $values.releases.role) -}}
{{- end -}}
{{- if has $values.releases.role (list "admin" "cluster-admin" "edit") -}}
{{- fail (printf "releases.role is %s: it lets a rollout read Secrets and act as other accounts, which no policy sees. Choose a ClusterRole of your own." $values.releases.role) -}}
{{- end -}}
{{- if $values.releases.secrets -}}
{{- $others := concat (list "default" "kube-system" "kube-public" "kube-node-lease" $values.grantsNamespace "sallyport-debug" (include "sallyport.namespace" .)) (include "sallyport.opened" . | fromJsonArray) -}}
{{- if has $values.releases.namespace $others -}}
{{- fail (printf "releases.namespace is %s: choose a namespace that nothing else uses, as the operator reads every Secret in it." $values.releases.namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "sallyport.operatorReleasesEnv" -}}
{{- $releases := .Values.releases }}
- name: SALLYPORT_RELEASES_ENABLED
  value: "true"
- name: SALLYPORT_RELEASES_KINDS
  value: {{ join "," $releases.kinds | quote }}
- name: SALLYPORT_RELEASES_REGISTRIES
  value: {{ join "," $releases.registries | quote }}
- name: SALLYPORT_RELEASES_MAY_EXPOSE
  value: {{ $releases.mayExpose | quote }}
- name: SALLYPORT_RELEASES_MAY_READ_SECRETS
  value: {{ join "," $releases.mayRead.secrets | quote }}
- name: SALLYPORT_RELEASES_MAY_READ_CONFIG_MAPS
  value: {{ join "," $releases.mayRead.configMaps | quote }}
- name: SALLYPORT_RELEASES_MAY_READ_VOLUME_CLAIMS
  value: {{ join "," $releases.mayRead.volumeClaims | quote }}
- name: SALLYPORT_RELEASES_MAY_USE_PRIORITY_CLASSES
  value: {{ join "," $releases.mayUse.priorityClasses | quote }}
- name: SALLYPORT_RELEASES_MAY_USE_RUNTIME_CLASSES
  value: {{ join "," $releases.mayUse.runtimeClasses | quote }}
- name: SALLYPORT_RELEASES_MAY_USE_SCHEDULERS
  value: {{ join "," $releases.mayUse.schedulers | quote }}
- name: SALLYPORT_RELEASES_MAY_USE_RESOURCE_CLAIMS
  value: {{ join "," $releases.mayUse.resourceClaims | quote }}
- name: SALLYPORT_RELEASES_MAY_USE_EXTENDED_RESOURCES
  value: {{ join "," $releases.mayUse.extendedResources | quote }}
- name: SALLYPORT_RELEASES_MAY_USE_ANNOTATIONS
  value: {{ join "," $releases.mayUse.annotations | quote }}
- name: SALLYPORT_RELEASES_MAY_USE_LABELS
  value: {{ join "," $releases.mayUse.labels | quote }}
- name: SALLYPORT_RELEASES_MAX_PODS
  value: {{ int64 $releases.maxPods | quote }}
- name: SALLYPORT_RELEASES_POD_SECURITY
  value: {{ $releases.podSecurity | quote }}
- name: SALLYPORT_RELEASES_RECREATE
  value: {{ $releases.recreate | quote }}
- name: SALLYPORT_RELEASES_ROLE
  value: {{ $releases.role | quote }}
{{- include "sallyport.releaseSecretsEnv" . }}
{{- end -}}

{{/* Of agent and operator alike. */}}
{{- define "sallyport.releaseSecretsEnv" -}}
{{- if .Values.releases.secrets }}
- name: SALLYPORT_RELEASES_SECRETS
  value: "true"
- name: SALLYPORT_RELEASES_NAMESPACE
  value: {{ .Values.releases.namespace | quote }}
{{- end }}
{{- end -}}
