{{/* Names leave room for "-operator-self-check" within 63 characters. */}}
{{- define "sallyport.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 43 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 43 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 43 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* (dict "root" $ "component" "agent") */}}
{{- define "sallyport.componentName" -}}
{{- printf "%s-%s" (include "sallyport.fullname" .root) .component -}}
{{- end -}}

{{/* The Deployments of this release, as JSON: the tunnel with debug sessions only, the last two with machines. */}}
{{- define "sallyport.components" -}}
{{- concat (list "agent" "operator") (ternary (list "tunnel") list .Values.debugSessions.enabled) (ternary (list "machines" "join") list .Values.machines.enabled) | toJson -}}
{{- end -}}

{{/* Where agent, operator and tunnel are installed. */}}
{{- define "sallyport.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "sallyport.account" -}}
{{- $account := (index .root.Values .component).serviceAccount -}}
{{- default (include "sallyport.componentName" .) $account.name -}}
{{- end -}}

{{/* What a Deployment selects by: never changes, holds no version. */}}
{{- define "sallyport.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* A map as YAML, with texts as its values: a label may be written as the number 1000000, and stays 1000000. */}}
{{- define "sallyport.texts" -}}
{{- $texts := dict -}}
{{- range $key, $value := . -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $_ := set $texts $key (kindIs "string" $value | ternary $value (toJson $value)) -}}
{{- end -}}
{{- end -}}
{{- if $texts -}}{{- toYaml $texts -}}{{- end -}}
{{- end -}}

{{/* All labels as YAML; ours win over "labels" and commonLabels. */}}
{{- define "sallyport.labels" -}}
{{- $ours := include "sallyport.selector" . | fromYaml -}}
{{- $_ := set $ours "app.kubernetes.io/version" (.root.Chart.AppVersion | toString) -}}
{{- $_ := set $ours "app.kubernetes.io/part-of" "sallyport" -}}
{{- $_ := set $ours "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $ours "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- include "sallyport.texts" (merge $ours (default dict .labels) (default dict .root.Values.commonLabels)) -}}
{{- end -}}

{{- define "sallyport.annotations" -}}
{{- include "sallyport.texts" (merge dict (default dict .annotations) (default dict .root.Values.commonAnnotations)) -}}
{{- end -}}

{{/* Labels and annotations of any object. (dict "root" $ "component" "agent" "labels" dict "annotations" dict) */}}
{{- define "sallyport.meta" -}}
labels:
{{- include "sallyport.labels" . | nindent 2 }}
{{- with include "sallyport.annotations" . }}
annotations:
{{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Namespace and name of the operator's Deployment, with the overrides of its name. */}}
{{- define "sallyport.operator" -}}
{{- printf "%s/%s" (include "sallyport.namespace" .) (include "sallyport.componentName" (dict "root" . "component" "operator")) -}}
{{- end -}}

{{/* Of an object that may outlive the release: whose it was. (dict "root" $ "keep" true) */}}
{{- define "sallyport.keptAnnotations" -}}
sallyport.dev/operator: {{ include "sallyport.operator" .root }}
{{- if .keep }}
helm.sh/resource-policy: keep
{{- end }}
{{- end -}}

{{/* registry/repository(:tag|@digest); a global registry and a digest win. */}}
{{- define "sallyport.image" -}}
{{- $image := .Values.image -}}
{{- $registry := default $image.registry (default dict .Values.global).imageRegistry -}}
{{- $name := $registry | empty | ternary $image.repository (printf "%s/%s" (trimSuffix "/" (default "" $registry)) $image.repository) -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .Chart.AppVersion $image.tag | toString) -}}
{{- end -}}
{{- end -}}

{{/* The chart's own pull secrets and the parent's. */}}
{{- define "sallyport.imagePullSecrets" -}}
{{- $all := concat (default list .Values.imagePullSecrets) (default list (default dict .Values.global).imagePullSecrets) -}}
{{- range $all }}
- name: {{ kindIs "map" . | ternary (get (kindIs "map" . | ternary . dict) "name") . | quote }}
{{- end }}
{{- end -}}

{{/* Where roles that are lent in opened namespaces lie: [""] is "a ClusterRole". */}}
{{- define "sallyport.openedPlaces" -}}
{{- eq .Values.rbac.scope "cluster" | ternary (list "") (include "sallyport.opened" . | fromJsonArray) | toJson -}}
{{- end -}}

{{/* Namespaces opened to the two accounts: those of the list, and those that deployments are accepted for. */}}
{{- define "sallyport.opened" -}}
{{- $all := default list .Values.namespaces -}}
{{- range .Values.deployments -}}
{{- $all = concat $all . -}}
{{- end -}}
{{- uniq $all | toJson -}}
{{- end -}}

{{/* dep_x=shop+jobs,dep_y=shop */}}
{{- define "sallyport.deployments" -}}
{{- $pairs := list -}}
{{- range $id, $namespaces := .Values.deployments -}}
{{- $pairs = append $pairs (printf "%s=%s" $id (join "+" $namespaces)) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end -}}

{{- define "sallyport.peoplePlaces" -}}
{{- eq .Values.rbac.scope "cluster" | ternary (list "") (list .Values.grantsNamespace) | toJson -}}
{{- end -}}

{{- define "sallyport.roleKind" -}}
{{- eq .Values.rbac.scope "cluster" | ternary "ClusterRole" "Role" -}}
{{- end -}}

{{/* A binding cannot change the role that it names, so each scope has bindings of its own. */}}
{{- define "sallyport.bindingSuffix" -}}
{{- eq .Values.rbac.scope "cluster" | ternary "" "-role" -}}
{{- end -}}

{{- define "sallyport.runtimeKeySecret" -}}
{{- default (printf "%s-runtime-key" (include "sallyport.fullname" .)) .Values.runtimeKey.existingSecret -}}
{{- end -}}

{{- define "sallyport.hasProxy" -}}
{{- if or .Values.proxy.http .Values.proxy.https .Values.proxy.existingSecret -}}x{{- end -}}
{{- end -}}

{{/* Secret with the proxies' addresses: the customer's, or the chart's where an address holds a password. Else empty. */}}
{{- define "sallyport.proxySecret" -}}
{{- $proxy := .Values.proxy -}}
{{- if $proxy.existingSecret -}}
{{- $proxy.existingSecret -}}
{{- else if contains "@" (printf "%s%s" (default "" $proxy.http) (default "" $proxy.https)) -}}
{{- printf "%s-proxy" (include "sallyport.fullname" .) -}}
{{- end -}}
{{- end -}}

{{/* A URL to be shown: without user and password. */}}
{{- define "sallyport.shown" -}}
{{- regexReplaceAll "^([A-Za-z][A-Za-z0-9+.-]*://)?.*@" . "${1}" -}}
{{- end -}}

{{- define "sallyport.hasTrustedCA" -}}
{{- if or .Values.trustedCA.configMap .Values.trustedCA.secret -}}x{{- end -}}
{{- end -}}
