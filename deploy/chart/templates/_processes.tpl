{{/* What our processes have in common. Each takes a dict: root ($), name (without "podloom-"), values (of this process), and what is said beside it. */}}

{{/* What every process has: an account of its own, and a Service at which its figures are asked. */}}
{{- define "podloom.process" -}}
{{- $root := .root -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: podloom-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "podloom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
automountServiceAccountToken: false
---
# Headless: each process has figures of its own, and nobody needs a virtual address for them.
apiVersion: v1
kind: Service
metadata:
  name: podloom-{{ .name }}-metrics
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "podloom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
spec:
  clusterIP: None
  selector:
    app.kubernetes.io/name: podloom
    app.kubernetes.io/component: {{ .name }}
  ports:
    - { name: metrics, port: {{ .values.port }}, targetPort: metrics }
{{- if $root.Values.metrics.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: podloom-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "podloom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
    {{- with $root.Values.metrics.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: podloom
      app.kubernetes.io/component: {{ .name }}
  namespaceSelector:
    matchNames: [{{ $root.Release.Namespace }}]
  endpoints:
    # Some figures are of a namespace, and that is not the one that they are scraped in.
    - { port: metrics, interval: {{ $root.Values.metrics.serviceMonitor.interval }}, honorLabels: true }
{{- end }}
{{- end }}

{{/* What every operator has: replicas of which one leads, by a Lease of its name. Beside the above: args, env as a list of name and value, and where they are needed volumes (name, path, source) and ports of others that it asks; serves (name, port) is its own ports beside that for figures; secretEnv is environment from Secrets, as Kubernetes has it. */}}
{{- define "podloom.operator" -}}
{{- $root := .root -}}
{{- $selector := dict "app.kubernetes.io/name" "podloom" "app.kubernetes.io/component" .name -}}
{{ include "podloom.process" . }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: podloom-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "podloom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
spec:
  replicas: {{ .values.replicas }}
  revisionHistoryLimit: 3
  selector:
    matchLabels: {{- toYaml $selector | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "podloom.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .name }}
      {{- with include "podloom.podAnnotations" $root | trim }}
      annotations: {{- . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "podloom.operatorPod" . | nindent 6 }}
      # Preferred, not required: on a cluster of one node both still run, and one can take over from the other.
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels: {{- toYaml $selector | nindent 20 }}
      containers:
        - name: {{ .name }}
          {{- include "podloom.operatorContainer" . | nindent 10 }}
            {{- range .env }}
            - name: {{ .name }}
              value: {{ .value | quote }}
            {{- end }}
            {{- with .secretEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
            - name: PODLOOM_PORT
              value: {{ .values.port | quote }}
          ports:
            - { name: metrics, containerPort: {{ .values.port }} }
            {{- range .serves }}
            - { name: {{ .name }}, containerPort: {{ .port }} }
            {{- end }}
          livenessProbe:
            httpGet: { path: /healthz, port: metrics }
            periodSeconds: 20
            timeoutSeconds: 5
          readinessProbe:
            httpGet: { path: /readyz, port: metrics }
            periodSeconds: 5
            timeoutSeconds: 5
          {{- with .volumes }}
          volumeMounts:
            {{- range . }}
            - { name: {{ .name }}, mountPath: {{ .path }}, readOnly: true }
            {{- end }}
          {{- end }}
      {{- with .volumes }}
      volumes:
        {{- range . }}
        - name: {{ .name }}
          {{- toYaml .source | nindent 10 }}
        {{- end }}
      {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: podloom-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "podloom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
spec:
  # One at a time, also where there is only one: it never blocks the drain of a node.
  maxUnavailable: 1
  selector:
    matchLabels: {{- toYaml $selector | nindent 6 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: podloom-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "podloom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
rules:
  # RBAC cannot limit by name what is created. All else is limited to the Lease of its own: no operator takes the lead from another kind of operator.
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [podloom-{{ .name }}]
    verbs: [get, list, watch, update, delete]
  {{- with .rules }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: podloom-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "podloom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: podloom-{{ .name }} }
subjects:
  - { kind: ServiceAccount, name: podloom-{{ .name }}, namespace: {{ $root.Release.Namespace }} }
---
{{ include "podloom.clusterRoleBinding" . }}
{{- if $root.Values.networkPolicy.enabled }}
---
# An operator is asked for its figures and talks to the API server; nothing else reaches it and it reaches nothing else.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: podloom-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "podloom.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
spec:
  podSelector:
    matchLabels: {{- toYaml $selector | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports:
        - { protocol: TCP, port: metrics }
        {{- range .serves }}
        - { protocol: TCP, port: {{ .name }} }
        {{- end }}
  egress:
    - ports:
        {{- range concat $root.Values.networkPolicy.apiServerPorts (.ports | default list) | uniq }}
        - { protocol: TCP, port: {{ . }} }
        {{- end }}
    - ports:
        - { protocol: UDP, port: 53 }
        - { protocol: TCP, port: 53 }
{{- end }}
{{- end }}

{{/* Of the pod of an operator, and of a Job that works in its place. */}}
{{- define "podloom.operatorPod" -}}
serviceAccountName: podloom-{{ .name }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Its container, up to the environment, which goes on after it. */}}
{{- define "podloom.operatorContainer" -}}
image: {{ include "podloom.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: {{ .args | toJson }}
resources: {{- toYaml .values.resources | nindent 2 }}
securityContext: {{- include "podloom.restricted" . | nindent 2 }}
env:
  - name: POD_NAMESPACE
    valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
  - name: POD_NAME
    valueFrom: { fieldRef: { fieldPath: metadata.name } }
{{- end }}

{{/* Gives the account of a process the ClusterRole of the same name. */}}
{{- define "podloom.clusterRoleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: podloom-{{ .name }}
  labels:
    {{- include "podloom.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: podloom-{{ .name }} }
subjects:
  - { kind: ServiceAccount, name: podloom-{{ .name }}, namespace: {{ .root.Release.Namespace }} }
{{- end }}
