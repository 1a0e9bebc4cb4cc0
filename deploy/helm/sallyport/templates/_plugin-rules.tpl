{{/* Made by `npm run generate` from src/plugins/rules.ts. Do not edit. */}}
{{- define "sallyport.pluginRefusal" -}}
{{- $rights := . -}}
{{- $refused := "" -}}
{{- range $row := `[{"pattern":"^([a-z-]+) ([a-z]+) (rbac\\.authorization\\.k8s\\.io/.*)$","why":"it gives rights"},{"pattern":"^([a-z-]+) ([a-z]+) ((authentication|certificates)\\.k8s\\.io/.*)$","why":"it issues credentials"},{"pattern":"^([a-z-]+) ([a-z]+) (authorization\\.k8s\\.io/.*)$","why":"it tells what others may do"},{"pattern":"^([a-z-]+) ([a-z]+) (admissionregistration\\.k8s\\.io/.*)$","why":"it decides what the cluster admits"},{"pattern":"^([a-z-]+) ([a-z]+) (apiregistration\\.k8s\\.io/.*)$","why":"it decides who answers for an API"},{"pattern":"^([a-z-]+) ([a-z]+) (apiextensions\\.k8s\\.io/.*)$","why":"it changes APIs"},{"pattern":"^([a-z-]+) ([a-z]+) (sallyport\\.dev/.*)$","why":"it is Sallyport's own: grants and policies are for the customer"},{"pattern":"^([a-z-]+) ([a-z]+) (/secrets(/.*)?)$","why":"it holds credentials"},{"pattern":"^([a-z-]+) ([a-z]+) (/serviceaccounts(/.*)?)$","why":"it is an identity"},{"pattern":"^([a-z-]+) ([a-z]+) (/bindings(/.*)?)$","why":"it places pods"},{"pattern":"^([a-z-]+) ([a-z]+) (/(nodes|namespaces|persistentvolumes)(/.*)?|storage\\.k8s\\.io/storageclasses)$","why":"it lies in no namespace, and an operation has rights in one namespace alone"},{"pattern":"^([a-z-]+) (create|patch) ((/podtemplates|/replicationcontrollers|apps/replicasets|apps/controllerrevisions|batch/jobs|batch/cronjobs)(/.*)?)$","why":"it starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"},{"pattern":"^([a-z-]+) (create) (apps/(deployments|statefulsets|daemonsets)(/.*)?)$","why":"it starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"},{"pattern":"^([a-z-]+) (create|patch) (autoscaling/horizontalpodautoscalers(/.*)?)$","why":"it starts as many pods as it says: a plugin sets replicas by the subresource scale, up to 1,000"},{"pattern":"^([a-z-]+) (create|patch|delete) ((/services|/endpoints)(/.*)?|(discovery|gateway\\.networking)\\.k8s\\.io/.*|networking\\.k8s\\.io/ingresses(/.*)?)$","why":"it takes addresses, hosts or traffic, also from beyond its namespace"},{"pattern":"^([a-z-]+) (create|patch|delete) ((/resourcequotas|/limitranges|networking\\.k8s\\.io/networkpolicies|policy/poddisruptionbudgets)(/.*)?)$","why":"it is a bound that the customer sets"},{"pattern":"^([a-z-]+) (create|patch|delete) (/events|events\\.k8s\\.io/.*)$","why":"it is told to the vendor with the health of workloads: what an operation says stands in its result"},{"pattern":"^([a-z-]+) (create|patch|delete) (([-a-z0-9]+\\.)+k8s\\.io/.*)$","why":"it is of Kubernetes' own groups in k8s.io, whose kinds decide for more than their namespace: a plugin only reads them"},{"pattern":"^([a-z-]+) (create) (/persistentvolumeclaims)$","why":"it takes a volume, which lies in no namespace"},{"pattern":"^([a-z-]+) (patch) ([-a-z0-9]*/[-a-z0-9]+/status)$","why":"it is what the controller of a built-in kind says: a plugin writes the status of other kinds alone"},{"pattern":"^([a-z-]+) (create|patch) (/pods)$","why":"it starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"},{"pattern":"^(read-only) (create|patch|delete) (.*)$","why":"the operation's tier is read-only"},{"pattern":"^(mutating) (delete) (.*)$","why":"the operation's tier is mutating, and must be destructive"},{"pattern":"^([a-z-]+) (get) (/pods/log)$","why":""},{"pattern":"^([a-z-]+) ([a-z]+) (/pods/.*)$","why":"of subresources a plugin's client reaches pods/log (get), and scale and status of other kinds (get, patch)"},{"pattern":"^([a-z-]+) (get|patch) ([-.a-z0-9]*/[-a-z0-9]+/(scale|status))$","why":""},{"pattern":"^([a-z-]+) ([a-z]+) ([-.a-z0-9]*/[-a-z0-9]+/.*)$","why":"of subresources a plugin's client reaches pods/log (get), and scale and status of other kinds (get, patch)"}]` | fromJsonArray -}}
{{- $lines := printf "(?m)%s" $row.pattern -}}
{{- if empty $row.why -}}
{{- $rights = regexReplaceAllLiteral $lines $rights "" -}}
{{- else if empty $refused -}}
{{- $right := splitn " " 3 (regexFind $lines $rights) -}}
{{- with $right._1 -}}
{{- $refused = printf "may not have %s on %s: %s" . (trimPrefix "/" $right._2) $row.why -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $refused -}}
{{- end -}}
{{/* Given how many pairs of API group and resource the rules of a plugin have: why these are too many. Empty: they are not. */}}
{{- define "sallyport.pluginExcess" -}}
{{- if gt (int .) 256 -}}
have more than 256 pairs of API group and resource in all operations together, and a rule means each of its groups with each of its resources: name what the operations need, in rules of one group each
{{- end -}}
{{- end -}}
{{/* The least memory of the operator with plugins, in MiB. */}}
{{- define "sallyport.memoryWithPlugins" -}}
416
{{- end -}}
{{/* The memory of a plugin's process, in MiB. */}}
{{- define "sallyport.memoryOfPlugin" -}}
160
{{- end -}}
{{/* Words with which no plugin's name begins, as JSON. */}}
{{- define "sallyport.reservedNames" -}}
["kubernetes","debug","machine","machines","release","releases"]
{{- end -}}
