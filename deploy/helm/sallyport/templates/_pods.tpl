{{- define "sallyport.volumeMounts" -}}
- name: tmp
  mountPath: /tmp
- name: api-access
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- if not (has .component (list "operator" "machines")) }}
- name: runtime-key
  mountPath: /var/run/sallyport/runtime-key
  readOnly: true
{{- if include "sallyport.hasTrustedCA" .root }}
- name: trusted-ca
  mountPath: /etc/sallyport/trusted-ca
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{/*
The API token is bound to the pod and rotated; nothing else of the account is mounted. Directories, never subPath: those
follow a change. Modes are decimal, 292 for r--r--r--: of a number that begins with 0 readers of YAML 1.1 and 1.2 make two.
*/}}
{{- define "sallyport.volumes" -}}
{{- $values := .root.Values -}}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
- name: api-access
  projected:
    defaultMode: 292
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3607
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                fieldPath: metadata.namespace
{{- if not (has .component (list "operator" "machines")) }}
- name: runtime-key
  secret:
    secretName: {{ include "sallyport.runtimeKeySecret" .root | quote }}
    defaultMode: 292
    items:
      - key: {{ $values.runtimeKey.existingSecret | empty | ternary "key" $values.runtimeKey.existingSecretKey | quote }}
        path: key
{{- if include "sallyport.hasTrustedCA" .root }}
- name: trusted-ca
  {{- if $values.trustedCA.configMap }}
  configMap:
    name: {{ $values.trustedCA.configMap | quote }}
  {{- else }}
  secret:
    secretName: {{ $values.trustedCA.secret | quote }}
  {{- end }}
    defaultMode: 292
    items:
      - key: {{ $values.trustedCA.key | quote }}
        path: ca.crt
{{- end }}
{{- end }}
{{- end -}}

{{/* One Deployment. (dict "root" $ "component" "agent") */}}
{{- define "sallyport.deployment" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
{{- $own := index $values .component -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "sallyport.componentName" . | quote }}
  namespace: {{ include "sallyport.namespace" $root | quote }}
  {{- include "sallyport.meta" (dict "root" $root "component" .component "labels" $own.labels "annotations" $own.annotations) | nindent 2 }}
spec:
  replicas: {{ int $own.replicas }}
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      {{- include "sallyport.selector" . | nindent 6 }}
  {{- with include "sallyport.spoolIsClaimed" . | empty | ternary $own.strategy (dict "type" "Recreate") }}
  strategy:
    {{- toYaml (eq (default "" .type) "Recreate" | ternary (omit . "rollingUpdate") .) | nindent 4 }}
  {{- end }}
  template:
    metadata:
      {{- include "sallyport.meta" (dict "root" $root "component" .component "labels" $own.podLabels "annotations" $own.podAnnotations) | nindent 6 }}
    spec:
      serviceAccountName: {{ include "sallyport.account" . | quote }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ int64 $own.terminationGracePeriodSeconds }}
      {{- with $values.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with include "sallyport.imagePullSecrets" $root | trim }}
      imagePullSecrets:
        {{- . | nindent 8 }}
      {{- end }}
      {{- range $part := list "sallyport.scheduling" "sallyport.spread" }}
      {{- with include $part $ | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- end }}
      {{- with $own.extraInitContainers }}
      initContainers:
        {{- tpl (toYaml .) $root | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "sallyport.image" $root | quote }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          args: [{{ eq .component "machines" | ternary "machine-controller" .component }}]
          env:
            {{- include "sallyport.givingWay" (dict "ours" (include "sallyport.servingEnv" .) "theirs" $own.extraEnv "key" "name" "root" $root) | nindent 12 }}
          {{- with $own.extraEnvFrom }}
          envFrom:
            {{- tpl (toYaml .) $root | nindent 12 }}
          {{- end }}
          ports:
            - name: health
              containerPort: {{ int $own.healthPort }}
              protocol: TCP
            {{- if eq .component "join" }}
            - name: join
              containerPort: {{ int $own.port }}
              protocol: TCP
            {{- end }}
            {{- if $values.metrics.tls.existingSecret }}
            - name: metrics
              containerPort: {{ int $own.metricsPort }}
              protocol: TCP
            {{- end }}
          {{- range $probe, $path := dict "startupProbe" "/livez" "livenessProbe" "/livez" "readinessProbe" "/readyz" }}
          {{- with get $own $probe }}
          {{ $probe }}:
            {{- toYaml (merge (dict "httpGet" (dict "path" $path "port" "health")) .) | nindent 12 }}
          {{- end }}
          {{- end }}
          terminationMessagePolicy: FallbackToLogsOnError
          {{- with $own.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $values.securityContext }}
          securityContext:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          volumeMounts:
            {{- include "sallyport.givingWay" (dict "ours" (include "sallyport.servingMounts" .) "theirs" $own.extraVolumeMounts "key" "mountPath" "root" $root) | nindent 12 }}
        {{- with $own.extraContainers }}
        {{- tpl (toYaml .) $root | nindent 8 }}
        {{- end }}
      volumes:
        {{- include "sallyport.givingWay" (dict "ours" (include "sallyport.servingVolumes" .) "theirs" $own.extraVolumes "key" "name" "root" $root) | nindent 8 }}
{{- end -}}

{{/*
Where a pod may run and how it finds names. `global` is for all charts of a parent: our own value wins, and the labels of
nodes are added. (dict "root" $ "component" "agent")
*/}}
{{- define "sallyport.scheduling" -}}
{{- $own := index .root.Values .component -}}
{{- $global := default dict .root.Values.global -}}
{{- with include "sallyport.texts" (merge dict (default dict $own.nodeSelector) (default dict $global.nodeSelector)) }}
nodeSelector:
  {{- . | nindent 2 }}
{{- end }}
{{- range $field := list "tolerations" "affinity" "priorityClassName" "runtimeClassName" "schedulerName" "hostAliases" "dnsPolicy" "dnsConfig" }}
{{- with default (get $global $field) (get $own $field) }}
{{ toYaml (dict $field .) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Over which nodes the replicas spread. */}}
{{- define "sallyport.spread" -}}
{{- $own := index .root.Values .component -}}
{{- if $own.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml $own.topologySpreadConstraints | nindent 2 }}
{{- else if gt (int $own.replicas) 1 }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sallyport.selector" . | nindent 8 }}
{{- end }}
{{- end -}}
