{{/* What the policies of the labs share. */}}

{{- define "podloom.labsOperatorUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:podloom-labs-operator
{{- end }}

{{/* Flags of labs-operator that policies need as well: base-workspaces and webhook-bypass-groups are lists, as CEL has them. */}}
{{- define "podloom.labsFlag" -}}
{{- dig "operator" "flags" .flag "" .values.labs -}}
{{- end }}

{{- define "podloom.labsFlagList" -}}
{{- $names := list -}}
{{- range splitList "," (include "podloom.labsFlag" .) -}}
{{- with trim . -}}
{{- if not (regexMatch "^[A-Za-z0-9:._/@-]+$" .) -}}{{- fail (printf "labs.operator.flags.%s: %q is no name" $.flag .) -}}{{- end -}}
{{- $names = append $names (squote .) -}}
{{- end -}}
{{- end -}}
[{{ join ", " $names }}]
{{- end }}

{{- define "podloom.bypassGroups" -}}
{{- $groups := include "podloom.labsFlagList" (dict "values" .Values "flag" "webhook-bypass-groups") -}}
{{- if eq $groups "[]" -}}['system:masters']{{- else -}}{{ $groups }}{{- end -}}
{{- end }}

{{/*
Whom the policies leave alone: the operator, administrators (who have the verb override, as those do who have all verbs), the groups of
--webhook-bypass-groups, and Kubernetes itself, which only cleans up. With the resource that override is asked for.
*/}}
{{- define "podloom.labsExempt" -}}
- name: is-not-labs-operator
  expression: request.userInfo.username != '{{ include "podloom.labsOperatorUser" .root }}'
- name: is-not-kubernetes
  expression: >-
    request.userInfo.username != 'system:kube-controller-manager' && !('system:serviceaccounts:kube-system' in request.userInfo.groups)
- name: is-in-no-bypass-group
  expression: "!request.userInfo.groups.exists(g, g in {{ include "podloom.bypassGroups" .root }})"
- name: is-no-administrator
  expression: "!authorizer.group('crownlabs.polito.it').resource('{{ .resource }}').check('override').allowed()"
{{- end }}

{{/* Whether the requester manages a workspace: by the group of the token, or by RBAC, with the verb manage on the Workspace. */}}
{{- define "podloom.isManagerOf" -}}
(('kubernetes:workspace-' + {{ . }} + ':manager') in request.userInfo.groups
|| authorizer.group('crownlabs.polito.it').resource('workspaces').name({{ . }}).check('manage').allowed())
{{- end }}

{{- define "podloom.policyBinding" }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "podloom.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
  {{- with .paramRef }}
  paramRef: {{ toJson . }}
  {{- end }}
{{- end }}
