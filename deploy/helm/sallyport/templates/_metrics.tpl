{{/* The port that has /metrics, by its name in pods and Services. */}}
{{- define "sallyport.metricsPortName" -}}
{{- .Values.metrics.tls.existingSecret | empty | ternary "health" "metrics" -}}
{{- end -}}

{{/* Ports that listen in a component's pods, as JSON. (dict "root" $ "component" "agent") */}}
{{- define "sallyport.listening" -}}
{{- $own := index .root.Values .component -}}
{{- $ports := list $own.healthPort -}}
{{- if .root.Values.metrics.tls.existingSecret -}}{{- $ports = append $ports $own.metricsPort -}}{{- end -}}
{{- toJson $ports -}}
{{- end -}}

{{/*
How Prometheus checks the certificate. It scrapes pods by their addresses, which no certificate has, so the name that it
must find is said. A Secret is read in the monitor's namespace only.
*/}}
{{- define "sallyport.scrapeTls" -}}
{{- $tls := .root.Values.metrics.tls -}}
{{- $home := include "sallyport.namespace" .root -}}
{{- $ours := dict "serverName" (printf "%s.%s.svc" (include "sallyport.componentName" .) $home) -}}
{{- if and $tls.caKey (eq $home (default $home .monitor.namespace)) -}}
{{- $_ := set $ours "ca" (dict "secret" (dict "name" $tls.existingSecret "key" $tls.caKey)) -}}
{{- end -}}
{{- toYaml (merge dict (default dict .monitor.tlsConfig) $ours) -}}
{{- end -}}

{{/* Environment, mounts and volumes of the pods that serve metrics; the test pod serves none. */}}
{{- define "sallyport.servingEnv" -}}
{{- include "sallyport.env" . }}
{{- if .root.Values.metrics.tls.existingSecret }}
- name: SALLYPORT_METRICS_TLS_FOLDER
  value: /var/run/sallyport/metrics-tls
- name: SALLYPORT_METRICS_PORT
  value: {{ (index .root.Values .component).metricsPort | quote }}
- name: SALLYPORT_METRICS_AUTH
  value: {{ .root.Values.metrics.auth.enabled | ternary "token" "off" | quote }}
{{- end }}
{{- end -}}

{{- define "sallyport.servingMounts" -}}
{{- include "sallyport.volumeMounts" . }}
{{- if eq .component "tunnel" }}
- name: spool
  mountPath: /var/lib/sallyport/spool
{{- end }}
{{- if and (eq .component "join") .root.Values.join.tls.existingSecret }}
- name: join-tls
  mountPath: /var/run/sallyport/join-tls
  readOnly: true
{{- end }}
{{- if .root.Values.metrics.tls.existingSecret }}
- name: metrics-tls
  mountPath: /var/run/sallyport/metrics-tls
  readOnly: true
{{- end }}
{{- end -}}

{{- define "sallyport.servingVolumes" -}}
{{- include "sallyport.volumes" . }}
{{- if eq .component "tunnel" }}
{{ include "sallyport.spoolVolume" .root }}
{{- end }}
{{- if and (eq .component "join") .root.Values.join.tls.existingSecret }}
- name: join-tls
  secret:
    secretName: {{ .root.Values.join.tls.existingSecret | quote }}
    defaultMode: 292
{{- end }}
{{- with .root.Values.metrics.tls }}
{{- if .existingSecret }}
- name: metrics-tls
  secret:
    secretName: {{ .existingSecret | quote }}
    defaultMode: 292
    items:
      - key: {{ .certKey | quote }}
        path: tls.crt
      - key: {{ .keyKey | quote }}
        path: tls.key
{{- end }}
{{- end }}
{{- end -}}

{{/*
Whether an object of the Prometheus operator is made: asked for, and its kind as metrics.renderMode wants it. What is
skipped is told by NOTES.txt. (dict "root" $ "kind" "ServiceMonitor" "value" "serviceMonitor")
*/}}
{{- define "sallyport.makesMonitoring" -}}
{{- $metrics := .root.Values.metrics -}}
{{- if (get $metrics .value).enabled -}}
{{- $api := printf "monitoring.coreos.com/v1/%s" .kind -}}
{{- if or (eq $metrics.renderMode "alwaysRender") (.root.Capabilities.APIVersions.Has $api) -}}
x
{{- else if eq $metrics.renderMode "failIfMissing" -}}
{{- fail (printf "metrics.%s.enabled is true, and the cluster has no kind %s of monitoring.coreos.com/v1: install the Prometheus operator first, or choose --set metrics.renderMode=skipIfMissing. (Rendering without the cluster: add --api-versions %s.)" .value .kind $api) -}}
{{- end -}}
{{- end -}}
{{- end -}}
