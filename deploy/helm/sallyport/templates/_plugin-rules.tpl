{{/* Made by `npm run generate` from src/plugins/rules.ts. Do not edit. */}}
{{- define "sallyport.closedToPlugins" -}}
{{- $groups := `{"rbac.authorization.k8s.io":"gives rights","authentication.k8s.io":"issues credentials","authorization.k8s.io":"tells what others may do","certificates.k8s.io":"issues credentials","admissionregistration.k8s.io":"decides what the cluster admits","apiregistration.k8s.io":"decides who answers for an API","apiextensions.k8s.io":"changes APIs","sallyport.dev":"is Sallyport's own: grants and policies are for the customer"}` | fromJson -}}
{{- $closed := `{"/secrets":["all","holds credentials"],"/serviceaccounts":["all","are identities"],"/bindings":["all","places pods"],"/nodes":["*","is changed by kubernetes/cordon-node and kubernetes/uncordon-node alone"],"/namespaces":["*","holds everything in it"],"/persistentvolumes":["*","reaches the disks of nodes"],"/podtemplates":["*","starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"],"/replicationcontrollers":["*","starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"],"apps/replicasets":["*","starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"],"apps/controllerrevisions":["*","starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"],"apps/deployments":["create","starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"],"apps/statefulsets":["create","starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"],"apps/daemonsets":["create","starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"],"batch/jobs":["*","starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"],"batch/cronjobs":["*","starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own"]}` | fromJson -}}
{{- $parts := `{"log":["get"],"scale":["get","patch"],"status":["get","patch"]}` | fromJson -}}
{{- $names := splitn "/" 2 .resource -}}
{{- $changes := has .verb (list "create" "patch" "delete") -}}
{{- $entry := get $closed (printf "%s/%s" .group $names._0) | default (list "" "") -}}
{{- $first := index $entry 0 -}}
{{- if hasKey $groups .group -}}
it {{ get $groups .group }}
{{- else if or (eq $first "all") (and (eq $first "*") $changes) (and (eq $first "create") (eq .verb "create")) -}}
it {{ index $entry 1 }}
{{- else if $names._1 -}}
{{- if or (not (hasKey $parts $names._1)) (ne (eq $names._1 "log") (and (eq $names._0 "pods") (empty .group))) -}}
an operation of a plugin reaches pods/log, and scale and status of other kinds
{{- else if not (has .verb (get $parts $names._1)) -}}
it has only the verbs {{ get $parts $names._1 | join " and " }} for a plugin
{{- else if and $changes (eq .tier "read-only") -}}
the operation's tier is read-only
{{- end -}}
{{- else if and (empty .group) (eq $names._0 "pods") (has .verb (list "create" "patch")) -}}
it starts pods, which may use every Secret and account of their namespace: a plugin starts none of its own
{{- else if and $changes (eq .tier "read-only") -}}
the operation's tier is read-only
{{- end -}}
{{- end -}}
{{/* Words with which no plugin's name begins, as JSON. */}}
{{- define "sallyport.reservedNames" -}}
["kubernetes","debug","machine","machines","release","releases"]
{{- end -}}
