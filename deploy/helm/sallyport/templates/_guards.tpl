{{/* Combinations that cannot work or are dangerous, each refused with a sentence that says what to do. */}}
{{- define "sallyport.guards" -}}
{{- $values := .Values -}}
{{- $system := list "kube-system" "kube-public" "kube-node-lease" -}}
{{- $own := include "sallyport.namespace" . -}}
{{- if has $own $system -}}
{{- fail (printf "Sallyport does not belong into %s: install it into a namespace of its own, for instance with -n sallyport-system." $own) -}}
{{- end -}}
{{- if eq $own $values.grantsNamespace -}}
{{- fail (printf "grantsNamespace and the release's namespace are both %s: they must differ, or the operator could mint its own token." $own) -}}
{{- end -}}
{{- if has $values.grantsNamespace $system -}}
{{- fail (printf "grantsNamespace is %s: choose a namespace of its own, as policies guard every account and pod decision in it." $values.grantsNamespace) -}}
{{- end -}}
{{- range $label, $_ := $values.commonLabels -}}
{{- if hasPrefix "rbac.authorization.k8s.io/" $label -}}
{{- fail (printf "commonLabels holds %s, by which a built-in role would take the rules of all roles here: write it on a role of your own." $label) -}}
{{- end -}}
{{- end -}}
{{- $opened := include "sallyport.opened" . | fromJsonArray -}}
{{- range $opened -}}
{{- if has . (concat $system (list $values.grantsNamespace $own "sallyport-debug")) -}}
{{- fail (printf "%s stands in namespaces or deployments and cannot be opened to the vendor: it is a system namespace." .) -}}
{{- end -}}
{{- end -}}
{{- if gt (len $opened) 64 -}}
{{- fail (printf "namespaces and deployments open %d namespaces together: at most 64 can be." (len $opened)) -}}
{{- end -}}
{{- if not $values.platform.url -}}
{{- fail "platform.url is not set: add --set platform.url=https://… with the vendor's address." -}}
{{- end -}}
{{- if not (hasPrefix "https://" $values.platform.url) -}}
{{- fail (printf "platform.url is %s: it must begin with https://, as the runtime key travels on it." (include "sallyport.shown" $values.platform.url)) -}}
{{- end -}}
{{- if regexMatch "^https://[^/?#]*@" $values.platform.url -}}
{{- fail (printf "platform.url holds a user or a password: write %s, as the agent signs in with the runtime key alone." (include "sallyport.shown" $values.platform.url)) -}}
{{- end -}}
{{- if and $values.runtimeKey.existingSecret $values.runtimeKey.value -}}
{{- fail "runtimeKey.existingSecret and runtimeKey.value are both set: keep existingSecret and remove value." -}}
{{- end -}}
{{- if not (or $values.runtimeKey.existingSecret $values.runtimeKey.value) -}}
{{- fail (printf "runtimeKey.existingSecret is not set. Make the Secret with `kubectl -n %s create secret generic sallyport-runtime-key --from-file=key=runtime.key`, then add --set runtimeKey.existingSecret=sallyport-runtime-key." $own) -}}
{{- end -}}
{{- if and (eq $values.admission.mode "validating-and-mutating") (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "admission.mode is validating-and-mutating, which needs Kubernetes 1.36, and this is %s. Choose --set admission.mode=validating-only: approvers then type their own name, and it is checked. (Rendering without a cluster: say --kube-version.)" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if and (eq $values.rbac.scope "namespaces") (not $opened) -}}
{{- fail "rbac.scope is namespaces, and neither namespaces nor deployments opens any: name at least one, as roles are made only there." -}}
{{- end -}}
{{- if and (eq $values.rbac.scope "namespaces") (eq $values.observe.scope "cluster") -}}
{{- fail "observe.scope is cluster and rbac.scope is namespaces: one stream a kind needs a right in the whole cluster, for which this scope makes no role. Choose rbac.scope=cluster or observe.scope=namespaces." -}}
{{- end -}}
{{- range $plugin, $operations := $values.operations -}}
{{- range $name, $operation := $operations -}}
{{- if and (eq $values.rbac.scope "namespaces") (has $name (list "cordon-node" "uncordon-node")) $operation.enabled -}}
{{- fail (printf "operations.%s.%s.enabled is true and rbac.scope is namespaces: it works on objects of the whole cluster, for which this scope makes no role. Choose rbac.scope=cluster or switch it off." $plugin $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if eq (include "sallyport.account" (dict "root" . "component" "agent")) (include "sallyport.account" (dict "root" . "component" "operator")) -}}
{{- fail "agent and operator have the same ServiceAccount: they need two, or a stolen agent could do what the operator may." -}}
{{- end -}}
{{- range $component := include "sallyport.components" $ | fromJsonArray -}}
{{- $account := (index $values $component).serviceAccount -}}
{{- if and (not $account.create) (not $account.name) -}}
{{- fail (printf "%s.serviceAccount.create is false and its name is empty: name the account that is there." $component) -}}
{{- end -}}
{{- end -}}
{{- include "sallyport.debugGuards" . -}}
{{- include "sallyport.machinesGuards" . -}}
{{- include "sallyport.releasesGuards" . -}}
{{- include "sallyport.pluginGuards" . -}}
{{- if and $values.proxy.existingSecret (or $values.proxy.http $values.proxy.https) -}}
{{- fail "proxy.existingSecret and proxy.http or proxy.https are both set: keep one of the two." -}}
{{- end -}}
{{- range $name := list "http" "https" -}}
{{- $url := default "" (get $values.proxy $name) -}}
{{- if and $url (not (regexMatch "^https?://([^/?#]*@)?(\\[[0-9A-Fa-f:.]+\\]|[^][/?#@:]+)(:[0-9]+)?/?$" $url)) -}}
{{- fail (printf "proxy.%s is %s: write it with its scheme and no path, as http://proxy.example.com:3128." $name (include "sallyport.shown" $url)) -}}
{{- end -}}
{{- end -}}
{{- if and $values.trustedCA.configMap $values.trustedCA.secret -}}
{{- fail "trustedCA.configMap and trustedCA.secret are both set: keep one of the two." -}}
{{- end -}}
{{- if and $values.networkPolicy.enabled $values.proxy.existingSecret (not $values.networkPolicy.proxy.ports) -}}
{{- fail "networkPolicy.proxy.ports is empty, and the proxy's port is not known from a Secret: name it." -}}
{{- end -}}
{{- if and $values.networkPolicy.enabled $values.networkPolicy.cilium.enabled -}}
{{- if or $values.networkPolicy.extraEgress $values.networkPolicy.ingressFrom -}}
{{- fail "networkPolicy.cilium.enabled is true: write the rules of networkPolicy.extraEgress and networkPolicy.ingressFrom under networkPolicy.cilium, as Cilium writes them." -}}
{{- end -}}
{{- if and $values.proxy.existingSecret (not $values.networkPolicy.cilium.names) (not $values.networkPolicy.proxy.cidrs) -}}
{{- fail "networkPolicy.cilium.names is empty, and the proxy's host is not known from a Secret: name it." -}}
{{- end -}}
{{- end -}}
{{- if and $values.metrics.serviceMonitor.enabled $values.metrics.podMonitor.enabled -}}
{{- fail "metrics.serviceMonitor and metrics.podMonitor are both enabled: every pod would be scraped twice; keep one." -}}
{{- end -}}
{{- if and $values.metrics.auth.enabled (not $values.metrics.tls.existingSecret) -}}
{{- fail "metrics.auth.enabled is true and metrics.tls.existingSecret is not set: tokens would travel in the clear. Name a Secret with a certificate, for instance one of cert-manager." -}}
{{- end -}}
{{- if and $values.metrics.auth.enabled $values.metrics.podMonitor.enabled (not $values.metrics.podMonitor.authorization) -}}
{{- fail "metrics.auth.enabled is true and metrics.podMonitor.authorization is empty: name the Secret with Prometheus' token, as {credentials: {name: …, key: token}}, or use metrics.serviceMonitor, which sends Prometheus' own." -}}
{{- end -}}
{{- range $component := include "sallyport.components" $ | fromJsonArray -}}
{{- $own := index $values $component -}}
{{- if and $values.metrics.tls.existingSecret (eq (int $own.healthPort) (int $own.metricsPort)) -}}
{{- fail (printf "%s.healthPort and %s.metricsPort are both %d: give one of them another port." $component $component (int $own.healthPort)) -}}
{{- end -}}
{{- end -}}
{{- if $values.crds.enabled -}}
{{- $kind := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "accessgrants.sallyport.dev" -}}
{{- $operator := dig "metadata" "annotations" "sallyport.dev/operator" "" $kind -}}
{{- if and $operator (ne $operator (include "sallyport.operator" .)) -}}
{{- $owner := splitn "/" 2 $operator -}}
{{- $found := lookup "apps/v1" "Deployment" $owner._0 $owner._1 -}}
{{- $release := dig "metadata" "annotations" "meta.helm.sh/release-name" "" $kind -}}
{{- if and $found (or (ne $release .Release.Name) (ne (dig "metadata" "annotations" "meta.helm.sh/release-namespace" "" $kind) .Release.Namespace)) -}}
{{- fail (printf "This cluster has an installation of Sallyport: release %s, with its operator %s in namespace %s. A cluster takes one, because kinds, policies and roles to lend have fixed names, and a policy guards one operator. Upgrade that release, or uninstall it first." $release $owner._1 $owner._0) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $known := dict "debug" (list "logs" "read" "exec" "port-forward") "release" (list "install" "update" "delete" "rollback") -}}
{{- range $plugin, $operations := $values.operations -}}
{{- $_ := set $known $plugin (keys $operations | sortAlpha) -}}
{{- end -}}
{{- range $plugin, $of := default dict $values.plugins -}}
{{- $_ := set $known $plugin (keys $of.operations | sortAlpha) -}}
{{- end -}}
{{- $ruled := list (dict "where" "operationPolicy.rules" "rules" $values.operationPolicy.rules) -}}
{{- range $values.policies -}}
{{- $ruled = append $ruled (dict "where" (printf "policies, %s" .name) "rules" (dig "rules" list (default dict .spec))) -}}
{{- end -}}
{{- range $ruled -}}
{{- $where := .where -}}
{{- range .rules -}}
{{- $parts := splitn "/" 2 .pattern -}}
{{- if ne .pattern "*" -}}
{{- if not (has $parts._1 (append (default list (get $known $parts._0)) (hasKey $known $parts._0 | ternary "*" ""))) -}}
{{- fail (printf "%s: %s is no operation, and a rule for it would do nothing. There are kubernetes/%s, debug/%s and release/%s." $where .pattern (join ", kubernetes/" $known.kubernetes) (join ", debug/" $known.debug) (join ", release/" $known.release)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $values.policies -}}
{{- if eq .name "default" -}}
{{- fail "policies holds one named default, which is operationPolicy's: give it another name, or write its rules into operationPolicy." -}}
{{- end -}}
{{- end -}}
{{- if and (eq $values.image.tag "latest") (not $values.image.digest) -}}
{{- fail "image.tag is latest: name a version or a digest, so that a restart cannot change what runs." -}}
{{- end -}}
{{- end -}}
