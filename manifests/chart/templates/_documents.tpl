{{/*
What is installed stands in files/, written from manifests/base and manifests/components: one source for
kustomize, kubectl and this chart. Values change it in _adjust.tpl.
*/}}

{{/* The documents of a file, as a JSON array. */}}
{{- define "edl.file" -}}
{{- $documents := list }}
{{- range splitList "\n---\n" (.files.Get (printf "files/%s.yaml" .name)) }}
{{- $documents = append $documents (fromYaml .) }}
{{- end }}
{{- toJson $documents }}
{{- end }}

{{/* The base with the components that the values switch on, as a JSON array. Without the fence its policy goes. */}}
{{- define "edl.documents" -}}
{{- $names := list "base" }}
{{- if .Values.networkPolicy.enabled }}{{ $names = append $names "network-policy" }}{{ end }}
{{- if .Values.certManager.enabled }}{{ $names = append $names "cert-manager" }}{{ end }}
{{- if .Values.monitoring.enabled }}{{ $names = append $names "monitoring" }}{{ end }}
{{- $documents := list }}
{{- range $names }}
{{- range include "edl.file" (dict "files" $.Files "name" .) | fromJsonArray }}
{{- if or $.Values.fence.enabled (not (hasPrefix "ValidatingAdmissionPolicy" .kind)) }}
{{- $documents = append $documents . }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $documents }}
{{- end }}
