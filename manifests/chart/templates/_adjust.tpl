{{/* What the values change in a document: each changes it in place and prints nothing. */}}

{{- define "edl.Deployment" -}}
{{- $values := .values }}
{{- $isWebhook := eq .document.metadata.name "edl-webhook" }}
{{- $part := ternary $values.webhook $values.reconciler $isWebhook }}
{{- $_ := set .document.spec "replicas" $part.replicas }}
{{- $template := .document.spec.template }}
{{- with $values.pods.annotations }}{{ $_ := set $template.metadata "annotations" . }}{{ end }}
{{- $pod := $template.spec }}
{{- $_ := set $pod "priorityClassName" $values.pods.priorityClassName }}
{{- with $values.pods.nodeSelector }}{{ $_ := set $pod "nodeSelector" . }}{{ end }}
{{- with $values.pods.tolerations }}{{ $_ := set $pod "tolerations" . }}{{ end }}
{{- with $values.pods.affinity }}{{ $_ := set $pod "affinity" . }}{{ end }}
{{- $secrets := list }}
{{- range $values.pods.imagePullSecrets }}{{ $secrets = append $secrets (dict "name" .) }}{{ end }}
{{- with $secrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end }}
{{- $container := first $pod.containers }}
{{- $_ := set $container "image" $values.image }}
{{- $_ := set $container "resources" $part.resources }}
{{- range $container.env }}
{{- if eq .name "EDL_IMAGE" }}{{ $_ := set . "value" $values.image }}{{ end }}
{{- end }}
{{- if and $isWebhook $values.certManager.enabled }}
{{- $_ := set $container "args" (concat (slice $container.args 0 1) (list "--cert-dir" "/etc/edl-webhook") (slice $container.args 3)) }}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts (dict "name" "certificate" "mountPath" "/etc/edl-webhook" "readOnly" true)) }}
{{- $_ := set $pod "volumes" (append $pod.volumes (dict "name" "certificate" "secret" (dict "secretName" "edl-webhook-tls"))) }}
{{- end }}
{{- if and (not $isWebhook) $values.certManager.enabled }}
{{- $_ := set $container "args" (without $container.args "--certificates") }}
{{- end }}
{{- if and $isWebhook $values.webhook.clientCertificate.enabled }}
{{- $words := list "--client-ca" "/etc/edl-clients/ca.crt" }}
{{- range $values.webhook.clientCertificate.names }}{{ $words = concat $words (list "--client-name" .) }}{{ end }}
{{- $_ := set $container "args" (concat $container.args $words (list "--probe-port" "8080")) }}
{{- $_ := set $container "ports" (append $container.ports (dict "name" "probes" "containerPort" 8080)) }}
{{- $_ := set $container.startupProbe "httpGet" (dict "path" "/healthz" "port" "probes") }}
{{- $_ := set $container.livenessProbe "httpGet" (dict "path" "/healthz" "port" "probes") }}
{{- $_ := set $container.readinessProbe "httpGet" (dict "path" "/readyz" "port" "probes") }}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts (dict "name" "clients" "mountPath" "/etc/edl-clients" "readOnly" true)) }}
{{- $_ := set $pod "volumes" (append $pod.volumes (dict "name" "clients" "configMap" (dict "name" "edl-webhook-clients"))) }}
{{- end }}
{{- $flags := list }}
{{- if ne $values.logLevel "info" }}{{ $flags = list "--log-level" $values.logLevel }}{{ end }}
{{- if not $isWebhook }}
{{- $flags = concat $flags (include "edl.planningFlags" $values.reconciler.planning | fromJsonArray) }}
{{- end }}
{{- $_ := set $container "args" (concat $container.args $flags) }}
{{- end }}

{{/* loadCeiling: 0.9 → --load-ceiling 0.9; preempt: true → --preempt; a map → the flag for each entry. */}}
{{- define "edl.planningFlags" -}}
{{- $flags := list }}
{{- range $name, $value := . }}
{{- $flag := kebabcase $name }}
{{- if kindIs "invalid" $value }}
{{- else if kindIs "bool" $value }}
{{- $flags = append $flags (printf "--%s%s" (ternary "" "no-" $value) $flag) }}
{{- else if kindIs "map" $value }}
{{- range $key, $each := $value }}
{{- $flags = concat $flags (list (printf "--%s" $flag) (printf "%s=%s" $key (toJson $each))) }}
{{- end }}
{{- else if kindIs "string" $value }}
{{- $flags = concat $flags (list (printf "--%s" $flag) $value) }}
{{- else }}
{{- $flags = concat $flags (list (printf "--%s" $flag) (toJson $value)) }}
{{- end }}
{{- end }}
{{- toJson $flags }}
{{- end }}

{{- define "edl.MutatingWebhookConfiguration" -}}
{{- $values := .values }}
{{- if $values.certManager.enabled }}
{{- $_ := set .document.metadata "annotations" (dict "cert-manager.io/inject-ca-from" "edl-system/edl-webhook") }}
{{- end }}
{{- range .document.webhooks }}
{{- range .namespaceSelector.matchExpressions }}
{{- if eq .operator "NotIn" }}{{ $_ := set . "values" (concat .values $values.ignoredNamespaces) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "edl.ValidatingWebhookConfiguration" -}}
{{- include "edl.MutatingWebhookConfiguration" . }}
{{- end }}

{{- define "edl.Role" -}}
{{- if and .values.certManager.enabled (has .document.metadata.name (list "edl-webhook" "edl-reconciler-certificates")) }}
{{- $_ := set .document "rules" list }}
{{- end }}
{{- end }}

{{- define "edl.ClusterRole" -}}
{{- if and .values.certManager.enabled (eq .document.metadata.name "edl-reconciler-certificates") }}
{{- $_ := set .document "rules" list }}
{{- end }}
{{- end }}

{{- define "edl.Service" -}}
{{- if and .values.webhook.clientCertificate.enabled (eq .document.metadata.name "edl-webhook") }}
{{- $_ := set .document.spec "ports" (append .document.spec.ports (dict "name" "probes" "port" 8080 "targetPort" "probes")) }}
{{- end }}
{{- end }}

{{- define "edl.NetworkPolicy" -}}
{{- $chosen := .values.networkPolicy }}
{{- if and .values.webhook.clientCertificate.enabled (eq .document.metadata.name "edl-webhook") }}
{{- $_ := set (first (index .document.spec.ingress 1).ports) "port" "probes" }}
{{- end }}
{{- $blocks := list }}
{{- range $chosen.apiServerBlocks }}{{ $blocks = append $blocks (dict "ipBlock" (dict "cidr" .)) }}{{ end }}
{{- $ports := list }}
{{- range $chosen.apiServerPorts }}{{ $ports = append $ports (dict "port" .) }}{{ end }}
{{- range .document.spec.ingress }}
{{- if .from }}
{{- $selector := first (first .from).namespaceSelector.matchExpressions }}
{{- $_ := set $selector "values" $chosen.monitoringNamespaces }}
{{- else if $blocks }}
{{- $_ := set . "from" $blocks }}
{{- end }}
{{- end }}
{{- range .document.spec.egress }}
{{- $_ := set . "ports" $ports }}
{{- if $blocks }}{{ $_ := set . "to" $blocks }}{{ end }}
{{- end }}
{{- end }}

{{- define "edl.ServiceMonitor" -}}
{{- if and .values.webhook.clientCertificate.enabled (eq .document.kind "ServiceMonitor") (eq .document.metadata.name "edl-webhook") }}
{{- $_ := set .document.spec "endpoints" (list (dict "port" "probes" "interval" "15s")) }}
{{- end }}
{{- $_ := set .document.metadata "labels" (merge (dict) .values.monitoring.labels .document.metadata.labels) }}
{{- end }}

{{- define "edl.PrometheusRule" -}}
{{- include "edl.ServiceMonitor" . }}
{{- $runbook := .values.monitoring.runbookUrl }}
{{- range .document.spec.groups }}
{{- range .rules }}
{{- $section := last (splitList "#" .annotations.runbook_url) }}
{{- $_ := set .annotations "runbook_url" (printf "%s#%s" $runbook $section) }}
{{- end }}
{{- end }}
{{- end }}
