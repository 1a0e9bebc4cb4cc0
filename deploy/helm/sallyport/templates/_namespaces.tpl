{{/*
Refuses a release whose namespaces are missing. The API server would take a part of it and refuse the rest; the half-made
release would stand in the way of the next try. Without a cluster (helm template, Argo CD) no namespace is seen at all,
and nothing is refused.
*/}}
{{- define "sallyport.namespacesExist" -}}
{{- if .Values.checkNamespaces -}}
{{- $named := include "sallyport.opened" . | fromJsonArray -}}
{{- if not .Values.createGrantsNamespace -}}{{- $named = append $named .Values.grantsNamespace -}}{{- end -}}
{{- $missing := list -}}
{{- range $named -}}
{{- if not (lookup "v1" "Namespace" "" .) -}}{{- $missing = append $missing . -}}{{- end -}}
{{- end -}}
{{- if $missing -}}
{{- $sees := lt (len $missing) (len $named) -}}
{{- if not $sees -}}
{{- $sure := eq .Values.rbac.scope "cluster" | ternary "default" (include "sallyport.namespace" .) -}}
{{- $sees = not (empty (lookup "v1" "Namespace" "" $sure)) -}}
{{- end -}}
{{- if $sees -}}
{{- fail (printf "namespaces that do not exist: %s. Make them with kubectl create namespace, or take them from the values. Where the same release makes them, say --set checkNamespaces=false." (join ", " $missing)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
