{{/* Operations of plugins that are on, as JSON: what stands in the values, with the name of each and of its role. */}}
{{- define "sallyport.pluginOperations" -}}
{{- $all := list -}}
{{- range $plugin, $of := default dict .Values.plugins -}}
{{- range $name, $operation := $of.operations -}}
{{- if $operation.enabled -}}
{{- $more := dict "plugin" $plugin "version" $of.version "name" $name "role" (printf "sallyport-op-%s-%s" $plugin $name) -}}
{{- $all = append $all (merge $more $operation) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $all | toJson -}}
{{- end -}}

{{/* Names of their roles, as JSON. */}}
{{- define "sallyport.pluginRoles" -}}
{{- $names := list -}}
{{- range include "sallyport.pluginOperations" . | fromJsonArray -}}
{{- $names = append $names .role -}}
{{- end -}}
{{- $names | toJson -}}
{{- end -}}

{{/* For the map of roles and tiers in a policy. */}}
{{- define "sallyport.pluginTiers" -}}
{{- range include "sallyport.pluginOperations" . | fromJsonArray -}}
{{- printf ", '%s': '%s'" .role .tier -}}
{{- end -}}
{{- end -}}

{{/* The table that the operator reads. */}}
{{- define "sallyport.pluginTable" -}}
{{- $table := dict -}}
{{- range include "sallyport.pluginOperations" . | fromJsonArray -}}
{{- $plugin := default (dict "version" .version "operations" dict) (get $table .plugin) -}}
{{- $_ := set $plugin.operations .name (pick . "tier" "rules") -}}
{{- $_ := set $table .plugin $plugin -}}
{{- end -}}
{{- $table | toJson -}}
{{- end -}}

{{/* The rights of an operation, one a line: mutating patch apps/deployments */}}
{{- define "sallyport.pluginRights" -}}
{{- $tier := .tier -}}
{{- range $rule := .rules -}}
{{- range $group := $rule.apiGroups -}}
{{- range $resource := $rule.resources -}}
{{- range $verb := $rule.verbs -}}
{{- printf "%s %s %s/%s\n" $tier $verb $group $resource -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "sallyport.pluginGuards" -}}
{{/* These two first: what follows looks at each right of each operation, of which larger values have millions. */}}
{{- if gt (len (include "sallyport.pluginTable" .)) 100000 -}}
{{- fail "plugins hold more than 100000 characters of rules, which is more than the operator can be given: switch operations off that you do not need." -}}
{{- end -}}
{{- range $plugin, $of := include "sallyport.pluginTable" . | fromJson -}}
{{- $pairs := 0 -}}
{{- range $of.operations -}}
{{- range .rules -}}
{{- $pairs = add $pairs (mul (len .apiGroups) (len .resources)) -}}
{{- end -}}
{{- end -}}
{{- with include "sallyport.pluginExcess" $pairs -}}
{{- fail (printf "plugins.%s: its rules %s." $plugin .) -}}
{{- end -}}
{{- end -}}
{{- $reserved := include "sallyport.reservedNames" . | fromJsonArray -}}
{{- $roles := list -}}
{{- range include "sallyport.pluginOperations" . | fromJsonArray -}}
{{- $where := printf "plugins.%s.operations.%s" .plugin .name -}}
{{- $first := index (splitList "-" .plugin) 0 -}}
{{- if has $first $reserved -}}
{{- fail (printf "plugins holds %s, and names that begin with %s are Sallyport's own: the vendor has to give the plugin another name." .plugin $first) -}}
{{- end -}}
{{- if gt (len (printf "%s/%s" .plugin .name)) 64 -}}
{{- fail (printf "%s: plugin and operation are longer than 64 characters together, and a role is named after them: the vendor has to give shorter names." $where) -}}
{{- end -}}
{{- if has .role $roles -}}
{{- fail (printf "%s would have the role %s, which is another operation's too: switch one of them off." $where .role) -}}
{{- end -}}
{{- $roles = append $roles .role -}}
{{- with include "sallyport.pluginRefusal" (include "sallyport.pluginRights" .) -}}
{{- fail (printf "%s.rules %s. Take it out of the rules; an operation that cannot do without it does not run." $where .) -}}
{{- end -}}
{{- end -}}
{{- if $roles -}}
{{- $limit := (((.Values.operator.resources).limits).memory) | default "" -}}
{{- if $limit -}}
{{- $amount := regexFind "^[0-9]+" $limit | int -}}
{{- $least := include "sallyport.memoryWithPlugins" . | int -}}
{{- if lt (int (hasSuffix "Gi" $limit | ternary (mul $amount 1024) $amount)) $least -}}
{{- fail (printf "plugins are on, and operator.resources.limits.memory is %s: a plugin's process needs %sMi beside the operator. Add --set operator.resources.limits.memory=%dMi, or more." $limit (include "sallyport.memoryOfPlugin" .) $least) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
