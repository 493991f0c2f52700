{{- define "weir.labels" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "weir.image" -}}
{{ required "image.repository is the place of the image" .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "weir.config" -}}
{{- if not (hasPrefix "postgres" .Values.config.store) }}{{ fail "config.store has to be postgres://…: the machines of a fleet share it" }}{{ end }}
{{- if regexMatch "^[^/]*//[^/?#]*:[^/?#$]+@" .Values.config.store }}{{ fail "config.store has a password in clear text: put it into the secret, and ${PGPASSWORD} in its place" }}{{ end }}
{{- if not (hasPrefix "${" (.Values.config.http.token | default "${")) }}{{ fail "config.http.token has to stand in the secret, with ${WEIR_TOKEN} in its place: none lets everyone in" }}{{ end }}
{{- if not (or .Values.config.http.tls .Values.plaintext) }}{{ fail "config.http.tls is missing: set it and tlsSecret, or plaintext: true where something in front has TLS" }}{{ end }}
{{- if not .Values.from }}{{ fail "from has to name the pods and namespaces that may connect" }}{{ end }}
{{- if not .Values.config.servers }}{{ fail "config.servers has no server" }}{{ end }}
{{- if not .Values.config.http.hosts }}{{ fail "config.http.hosts has to name the service" }}{{ end }}
{{- toYaml .Values.config }}
{{- end }}

{{- define "weir.container" -}}
image: {{ include "weir.image" . | quote }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
envFrom:
  - secretRef: {name: {{ required "secret is the Secret with the variables of config" .Values.secret | quote }}}
env:
  - {name: HOME, value: /home/weir/own}
resources: {{- toYaml .Values.resources | nindent 2 }}
{{- end }}

{{- define "weir.mounts" -}}
- {name: config, mountPath: /etc/weir/weir.yaml, subPath: weir.yaml, readOnly: true}
- {name: own, mountPath: /home/weir/own}
- {name: tmp, mountPath: /tmp}
{{- end }}
