{{/* Host and port as a URL writes them: "proxy.example.com:3128". */}}
{{- define "sallyport.authority" -}}
{{- regexReplaceAll "^[a-z]+://([^/?#]*@)?([^/?#]*).*$" . "${2}" -}}
{{- end -}}

{{- define "sallyport.hostOf" -}}
{{- regexReplaceAll ":[0-9]+$" (include "sallyport.authority" .) "" | trimPrefix "[" | trimSuffix "]" -}}
{{- end -}}

{{/* Port of a URL: written in it, or its scheme's. */}}
{{- define "sallyport.portOf" -}}
{{- $port := regexFind ":[0-9]+$" (include "sallyport.authority" .) | trimPrefix ":" -}}
{{- default (hasPrefix "http://" . | ternary "80" "443") $port -}}
{{- end -}}

{{/* Ports of the proxies, as JSON. */}}
{{- define "sallyport.proxyPorts" -}}
{{- $ports := default list .Values.networkPolicy.proxy.ports -}}
{{- if not $ports -}}
{{- range $url := list .Values.proxy.https .Values.proxy.http | compact -}}
{{- $ports = append $ports (include "sallyport.portOf" $url | int) -}}
{{- end -}}
{{- end -}}
{{- uniq $ports | toJson -}}
{{- end -}}
