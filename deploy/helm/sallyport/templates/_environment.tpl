{{/*
Node's heap: three quarters of the memory limit, the rest is for buffers, code and the stack. Without a limit Node decides.
With plugins, the process of one takes memory beside it, and no signal opens a debugger.
A young generation of 8 MiB and not 16: 20 to 35 MiB less at the start of a large cluster, no slower, and shorter stalls.
*/}}
{{- define "sallyport.nodeOptions" -}}
{{- $limit := (((.resources).limits).memory) | default "" -}}
{{- if $limit -}}
{{- $amount := regexFind "^[0-9]+" $limit | int -}}
{{- $whole := hasSuffix "Gi" $limit | ternary (mul $amount 1024) $amount -}}
{{- printf "--max-old-space-size=%d " (div (mul (sub $whole (int (default 0 .forPlugins))) 3) 4) -}}
{{- end -}}
--max-semi-space-size=8
{{- if .forPlugins }} --disable-sigusr1{{ end -}}
{{- end -}}

{{/*
The chart's list without the entries that the customer's list has too, then the customer's: a server refuses a key twice.
(dict "ours" "YAML" "theirs" .extraEnv "key" "name" "root" $)
*/}}
{{- define "sallyport.givingWay" -}}
{{- $theirs := empty .theirs | ternary list (tpl (toYaml .theirs) .root | fromYamlArray) -}}
{{- $taken := list -}}
{{- range $theirs }}{{ $taken = append $taken (get . $.key) }}{{ end -}}
{{- $all := list -}}
{{- range .ours | fromYamlArray -}}
{{- if not (has (get . $.key) $taken) }}{{ $all = append $all . }}{{ end -}}
{{- end -}}
{{- toYaml (concat $all $theirs) -}}
{{- end -}}

{{/* Environment of agent, operator, tunnel and test. (dict "root" $ "component" "agent") */}}
{{- define "sallyport.env" -}}
{{- $values := .root.Values -}}
{{- $own := index $values .component -}}
{{- if and (eq .component "operator") (include "sallyport.pluginRoles" .root | fromJsonArray) -}}
{{- $own = merge (dict "forPlugins" (include "sallyport.memoryOfPlugin" .)) $own -}}
{{- end -}}
- name: NODE_ENV
  value: production
- name: NODE_OPTIONS
  value: {{ include "sallyport.nodeOptions" $own }}
- name: SALLYPORT_GRANTS_NAMESPACE
  value: {{ $values.grantsNamespace | quote }}
{{- if ne .component "join" }}
- name: SALLYPORT_IDENTITY
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}
{{- if ne .component "tunnel" }}
- name: SALLYPORT_SYSTEM_NAMESPACE
  value: {{ include "sallyport.namespace" .root | quote }}
{{- end }}
{{- if not (has .component (list "tunnel" "join" "machines")) }}
- name: SALLYPORT_DEPLOYMENTS
  value: {{ include "sallyport.deployments" .root | quote }}
{{- end }}
{{- if not (has .component (list "tunnel" "join")) }}
- name: SALLYPORT_LEASE_NAME
  value: {{ include "sallyport.account" . | quote }}
{{- end }}
- name: SALLYPORT_HEALTH_PORT
  value: {{ $own.healthPort | quote }}
- name: SALLYPORT_LOG_LEVEL
  value: {{ $values.log.level | quote }}
- name: SALLYPORT_LOG_FORMAT
  value: {{ $values.log.format | quote }}
{{- if eq .component "operator" }}
- name: SALLYPORT_ROLE_KIND
  value: {{ include "sallyport.roleKind" .root | quote }}
- name: SALLYPORT_LENDING_MODE
  value: {{ $values.lending.mode | quote }}
{{- if not $values.rbac.selfCheck }}
- name: SALLYPORT_ADMISSION_MODE
  value: unseen
{{- else if eq $values.admission.mode "validating-only" }}
- name: SALLYPORT_ADMISSION_MODE
  value: validating-only
{{- end }}
{{- if $values.debugSessions.enabled }}
{{- include "sallyport.operatorDebugEnv" .root }}
{{- end }}
{{- if $values.releases.enabled }}
{{- include "sallyport.operatorReleasesEnv" .root }}
{{- end }}
{{- if include "sallyport.pluginRoles" .root | fromJsonArray }}
- name: SALLYPORT_PLUGINS
  value: {{ include "sallyport.pluginTable" .root | quote }}
{{- end }}
{{- if $values.machines.enabled }}
- name: SALLYPORT_OPERATOR_MACHINES_ENABLED
  value: "true"
{{- end }}
{{- else if eq .component "machines" }}
{{- include "sallyport.machinesEnv" .root }}
{{- else }}
- name: SALLYPORT_PLATFORM_URL
  value: {{ $values.platform.url | quote }}
- name: SALLYPORT_RUNTIME_KEY_FILE
  value: /var/run/sallyport/runtime-key/key
- name: SALLYPORT_RUNTIME_KEY_OVERLAP
  value: {{ $values.runtimeKey.overlap | quote }}
{{- if eq .component "tunnel" }}
{{- include "sallyport.tunnelEnv" .root }}
{{- else if eq .component "join" }}
{{- include "sallyport.joinEnv" .root }}
{{- else }}
- name: SALLYPORT_MANAGER_URL
  value: {{ printf "https://%s.%s.svc" (include "sallyport.componentName" .) (include "sallyport.namespace" .root) | quote }}
- name: SALLYPORT_NAMESPACES
  value: {{ include "sallyport.opened" .root | fromJsonArray | join "," | quote }}
{{- $kinds := list }}
{{- range $kind, $isOn := $values.observe.kinds }}
{{- if $isOn }}
{{- $kinds = append $kinds (lower $kind) }}
{{- end }}
{{- end }}
- name: SALLYPORT_OBSERVED_KINDS
  value: {{ join "," $kinds | default "none" | quote }}
{{- $onDemand := list }}
{{- range $what := list "events" "metrics" }}
{{- if get $values.observe $what }}
{{- $onDemand = append $onDemand $what }}
{{- end }}
{{- end }}
- name: SALLYPORT_OBSERVED_ON_DEMAND
  value: {{ join "," $onDemand | default "none" | quote }}
- name: SALLYPORT_OBSERVED_LABEL_SELECTOR
  value: {{ $values.observe.labelSelector | default "" | quote }}
- name: SALLYPORT_OBSERVED_SCOPE
  value: {{ $values.observe.scope | quote }}
- name: SALLYPORT_OBSERVED_MAX_PODS
  value: {{ $values.observe.maxPods | int | quote }}
- name: SALLYPORT_REDACT_NAMES
  value: {{ ternary "on" "off" $values.observe.redactNames | quote }}
- name: SALLYPORT_OBSERVED_NODES
  value: {{ ternary "on" "off" $values.observe.nodes | quote }}
- name: SALLYPORT_AGENT_DEBUG_MODES
  value: {{ $values.debugSessions.enabled | ternary (include "sallyport.debugModes" .root) "none" | quote }}
{{- if $values.releases.enabled }}
- name: SALLYPORT_RELEASES_ENABLED
  value: "true"
{{- include "sallyport.releaseSecretsEnv" .root }}
{{- end }}
{{- if $values.machines.enabled }}
- name: SALLYPORT_AGENT_MACHINES
  value: "true"
- name: SALLYPORT_AGENT_MACHINES_REPORT_FOREIGN
  value: {{ $values.machines.reportForeign | quote }}
{{- end }}
{{- end }}
{{- include "sallyport.proxyEnv" .root }}
{{- if include "sallyport.hasTrustedCA" .root }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/sallyport/trusted-ca/ca.crt
{{- end }}
{{- end }}
{{- end -}}

{{/* Node reads proxies from the environment only. What is inside of the cluster never goes through one. */}}
{{- define "sallyport.proxyEnv" -}}
{{- $proxy := .Values.proxy -}}
{{- $secret := include "sallyport.proxySecret" . -}}
{{- range $name, $key := dict "HTTP_PROXY" "http" "HTTPS_PROXY" "https" }}
{{- if $secret }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret | quote }}
      key: {{ $key }}
      optional: true
{{- else if get $proxy $key }}
- name: {{ $name }}
  value: {{ get $proxy $key | quote }}
{{- end }}
{{- end }}
{{- if include "sallyport.hasProxy" . }}
{{- $direct := list "localhost" "127.0.0.1" "::1" "$(KUBERNETES_SERVICE_HOST)" ".svc" (printf ".%s" $proxy.clusterDomain) }}
{{- $named := regexSplit "," (default "" $proxy.noProxy) -1 }}
- name: NO_PROXY
  value: {{ concat $direct $named | compact | uniq | join "," | quote }}
{{- end }}
{{- end -}}
