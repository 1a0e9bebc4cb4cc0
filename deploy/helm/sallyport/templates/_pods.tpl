{{/* Three quarters of the memory limit, in MiB: the rest is for buffers, code and the stack. */}}
{{- define "sallyport.heapMegabytes" -}}
{{- $limit := .resources.limits.memory -}}
{{- $amount := regexFind "^[0-9]+" $limit | int -}}
{{- div (mul (hasSuffix "Gi" $limit | ternary (mul $amount 1024) $amount) 3) 4 -}}
{{- end -}}

{{/* Environment of agent, operator and test. (dict "root" $ "component" "agent") */}}
{{- define "sallyport.env" -}}
{{- $values := .root.Values -}}
{{- $own := index $values .component -}}
- name: NODE_ENV
  value: production
- name: NODE_OPTIONS
  # A young generation of 8 MiB and not 16: 20 to 35 MiB less at the start of a large cluster, no slower, and shorter stalls.
  value: --max-old-space-size={{ include "sallyport.heapMegabytes" $own }} --max-semi-space-size=8
- name: SALLYPORT_SYSTEM_NAMESPACE
  value: {{ .root.Release.Namespace | quote }}
- name: SALLYPORT_GRANTS_NAMESPACE
  value: {{ $values.grantsNamespace | quote }}
- name: SALLYPORT_DEPLOYMENTS
  value: {{ include "sallyport.deployments" .root | quote }}
- name: SALLYPORT_IDENTITY
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: SALLYPORT_LEASE_NAME
  value: {{ include "sallyport.account" . | quote }}
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
{{- else }}
- name: SALLYPORT_PLATFORM_URL
  value: {{ $values.platform.url | quote }}
- name: SALLYPORT_RUNTIME_KEY_FILE
  value: /var/run/sallyport/runtime-key/key
- name: SALLYPORT_RUNTIME_KEY_OVERLAP
  value: {{ $values.runtimeKey.overlap | quote }}
- name: SALLYPORT_MANAGER_URL
  value: {{ printf "https://%s.%s.svc" (include "sallyport.componentName" .) .root.Release.Namespace | quote }}
- name: SALLYPORT_NAMESPACES
  value: {{ include "sallyport.opened" .root | fromJsonArray | join "," | quote }}
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
{{- range $name, $key := dict "HTTP_PROXY" "http" "HTTPS_PROXY" "https" }}
{{- if $proxy.existingSecret }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $proxy.existingSecret }}
      key: {{ $key }}
      optional: true
{{- else if get $proxy $key }}
- name: {{ $name }}
  value: {{ get $proxy $key | quote }}
{{- end }}
{{- end }}
{{- if include "sallyport.hasProxy" . }}
{{- $direct := list "localhost" "127.0.0.1" "::1" "$(KUBERNETES_SERVICE_HOST)" ".svc" (printf ".%s" $proxy.clusterDomain) }}
{{- $named := regexSplit "," $proxy.noProxy -1 }}
- name: NO_PROXY
  value: {{ concat $direct $named | compact | uniq | join "," | quote }}
{{- end }}
{{- end -}}

{{- define "sallyport.volumeMounts" -}}
- name: tmp
  mountPath: /tmp
- name: api-access
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- if ne .component "operator" }}
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

{{/* The API token is bound to the pod and rotated; nothing else of the account is mounted. Directories, never subPath: those follow a change. */}}
{{- define "sallyport.volumes" -}}
{{- $values := .root.Values -}}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
- name: api-access
  projected:
    defaultMode: 0444
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
{{- if ne .component "operator" }}
- name: runtime-key
  secret:
    secretName: {{ include "sallyport.runtimeKeySecret" .root }}
    defaultMode: 0444
    items:
      - key: {{ $values.runtimeKey.existingSecret | empty | ternary "key" $values.runtimeKey.existingSecretKey }}
        path: key
{{- if include "sallyport.hasTrustedCA" .root }}
- name: trusted-ca
  {{- if $values.trustedCA.configMap }}
  configMap:
    name: {{ $values.trustedCA.configMap }}
  {{- else }}
  secret:
    secretName: {{ $values.trustedCA.secret }}
  {{- end }}
    defaultMode: 0444
    items:
      - key: {{ $values.trustedCA.key }}
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
  name: {{ include "sallyport.componentName" . }}
  namespace: {{ $root.Release.Namespace }}
  {{- include "sallyport.meta" (dict "root" $root "component" .component "labels" $own.labels "annotations" $own.annotations) | nindent 2 }}
spec:
  replicas: {{ $own.replicas }}
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      {{- include "sallyport.selector" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  template:
    metadata:
      {{- include "sallyport.meta" (dict "root" $root "component" .component "labels" $own.podLabels "annotations" $own.podAnnotations) | nindent 6 }}
    spec:
      serviceAccountName: {{ include "sallyport.account" . }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ $own.terminationGracePeriodSeconds }}
      {{- with $values.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with include "sallyport.imagePullSecrets" $root | trim }}
      imagePullSecrets:
        {{- . | nindent 8 }}
      {{- end }}
      {{- include "sallyport.scheduling" . | nindent 6 }}
      {{- with $own.extraInitContainers }}
      initContainers:
        {{- tpl (toYaml .) $root | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "sallyport.image" $root }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          args: [{{ .component }}]
          env:
            {{- include "sallyport.env" . | nindent 12 }}
            {{- with $own.extraEnv }}
            {{- tpl (toYaml .) $root | nindent 12 }}
            {{- end }}
          {{- with $own.extraEnvFrom }}
          envFrom:
            {{- tpl (toYaml .) $root | nindent 12 }}
          {{- end }}
          ports:
            - name: health
              containerPort: {{ $own.healthPort }}
              protocol: TCP
          startupProbe:
            {{- include "sallyport.probe" (dict "path" "/livez" "fields" $own.startupProbe) | nindent 12 }}
          livenessProbe:
            {{- include "sallyport.probe" (dict "path" "/livez" "fields" $own.livenessProbe) | nindent 12 }}
          readinessProbe:
            {{- include "sallyport.probe" (dict "path" "/readyz" "fields" $own.readinessProbe) | nindent 12 }}
          terminationMessagePolicy: FallbackToLogsOnError
          resources:
            {{- toYaml $own.resources | nindent 12 }}
          {{- with $values.securityContext }}
          securityContext:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          volumeMounts:
            {{- include "sallyport.volumeMounts" . | nindent 12 }}
            {{- with $own.extraVolumeMounts }}
            {{- tpl (toYaml .) $root | nindent 12 }}
            {{- end }}
        {{- with $own.extraContainers }}
        {{- tpl (toYaml .) $root | nindent 8 }}
        {{- end }}
      volumes:
        {{- include "sallyport.volumes" . | nindent 8 }}
        {{- with $own.extraVolumes }}
        {{- tpl (toYaml .) $root | nindent 8 }}
        {{- end }}
{{- end -}}

{{- define "sallyport.probe" -}}
{{- toYaml (merge (dict "httpGet" (dict "path" .path "port" "health")) .fields) -}}
{{- end -}}

{{- define "sallyport.scheduling" -}}
{{- $own := index .root.Values .component -}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" "runtimeClassName" }}
{{- with get $own $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
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
