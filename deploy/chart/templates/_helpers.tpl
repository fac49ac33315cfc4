{{/* One installation serves a cluster, and its policies are for the whole of it: names are fixed, and Helm refuses a
second release unless it is told to take over what the first one owns (--take-ownership). */}}

{{- define "podloom.labels" -}}
app.kubernetes.io/name: podloom
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: podloom
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Not empty where any part of the labs is installed. The tracker is a part of the bastion. */}}
{{- define "podloom.labs" -}}
{{- with .Values.labs -}}
{{- if or .tenants.enabled .instances.enabled .bastion.enabled .imageList.enabled -}}true{{- end -}}
{{- end -}}
{{- end }}

{{- define "podloom.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Replaces the pods when the image changed although its name did not. */}}
{{- define "podloom.podAnnotations" -}}
{{- with .Values.image.digest }}
podnetwork.opdev.io/image-digest: {{ . | quote }}
{{- end }}
{{- end }}

{{- define "podloom.networkOperatorUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:podloom-network-operator
{{- end }}

{{- define "podloom.agentUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:podloom-agent
{{- end }}

{{/* Of a container that needs nothing of its node: the level "restricted" of Pod Security. */}}
{{- define "podloom.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* Of a duration such as 1h30m, rounded up. */}}
{{- define "podloom.seconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 -}}
{{- $ms := 0 -}}
{{- range regexFindAll "[0-9]+[a-z]+" . -1 -}}
{{- $ms = add $ms (mul (regexFind "[0-9]+" .) (get $units (regexFind "[a-z]+" .))) -}}
{{- end -}}
{{- div (add $ms 999) 1000 -}}
{{- end }}
