package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"github.com/weir-mcp/weir/internal/config"
)

var helm = flag.String("helm", "", "the helm program: lint and render the chart")

const fleet = `
image: {repository: registry.example.com/weir}
config:
  store: postgres://weir:${PGPASSWORD}@db.example.com/weir?sslmode=verify-full
  http: {hosts: [weir.example.com], tls: {cert: /etc/weir-tls/tls.crt, key: /etc/weir-tls/tls.key}}
  servers: {notes: {url: https://notes.example.com/mcp, trust: known}}
secret: weir
anchorSecret: weir-anchor
tlsSecret: weir-tls
from: [{namespaceSelector: {matchLabels: {agents: "yes"}}}]
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: dedicated, operator: Exists}]
pullSecrets: [{name: registry}]
volume: {storageClass: fast}
`

// chart returns the packed chart of a tried release.
func chart(t *testing.T) string {
	t.Helper()
	if *helm == "" {
		t.Skip("needs -helm")
	}
	r, programs := tried(t, "linux/amd64")
	pack(t, r, programs)
	return filepath.Join(r.out, "helm", "weir-1.2.3.tgz")
}

// rendered runs helm with values in a file.
func rendered(t *testing.T, values string, args ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), *helm, append(args, "--values", file)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// TestChart renders the chart: each object is of its schema, no container can do more than it needs, and Weir takes the
// configuration.
func TestChart(t *testing.T) {
	packed := chart(t)
	if output, err := rendered(t, fleet, "lint", "--strict", packed); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	output, err := rendered(t, fleet, "template", "one", packed)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var set apps.StatefulSet
	var settings core.ConfigMap
	objects := map[string]any{
		"StatefulSet": &set, "ConfigMap": &settings, "Service": &core.Service{},
		"PodDisruptionBudget": &policy.PodDisruptionBudget{}, "NetworkPolicy": &networking.NetworkPolicy{},
	}
	for text := range strings.SplitSeq(output, "\n---\n") {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		object := objects[kind.Kind]
		if object == nil {
			t.Fatalf("a second or unknown %s:\n%s", kind.Kind, text)
		}
		if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
			t.Errorf("%s: %v", kind.Kind, err)
		}
		delete(objects, kind.Kind)
	}
	if len(objects) > 0 {
		t.Errorf("missing: %v", objects)
	}
	pod := set.Spec.Template.Spec
	if *set.Spec.Replicas != 2 || !*pod.SecurityContext.RunAsNonRoot || *pod.AutomountServiceAccountToken || len(set.Spec.VolumeClaimTemplates) != 1 {
		t.Errorf("%+v", set.Spec)
	}
	all := append(pod.InitContainers, pod.Containers...)
	for _, c := range all {
		if s := c.SecurityContext; c.Image != "registry.example.com/weir:1.2.3" || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
			len(s.Capabilities.Drop) != 1 || len(c.Command) > 0 || len(c.EnvFrom) != 1 {
			t.Errorf("%s: %+v", c.Name, c)
		}
		for _, m := range c.VolumeMounts {
			if secret := m.Name == "keys"; secret && c.Name != "anchor" {
				t.Errorf("%s can read the keys of the log as the cluster has them", c.Name)
			}
		}
	}
	name := filepath.Join(t.TempDir(), "weir.yaml")
	variables := map[string]string{"PGPASSWORD": "secret", "WEIR_TOKEN": "0123456789abcdef"}
	lookup := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
	loaded, err := config.Load(name, []byte(settings.Data["weir.yaml"]), config.Options{Lookup: lookup})
	if err != nil || loaded.Store != "postgres://weir:secret@db.example.com/weir?sslmode=verify-full" {
		t.Errorf("%v\n%s", err, settings.Data["weir.yaml"])
	}
}

// TestChartRefuses holds that a mistake is found before anything is installed.
func TestChartRefuses(t *testing.T) {
	packed := chart(t)
	for from, c := range map[string]struct{ to, want string }{
		"repository: registry.example.com/weir":                       {"repository: ''", "image.repository is the place of the image"},
		"postgres://weir:":                                            {"/var/lib/", "config.store has to be postgres://"},
		"hosts: [weir.example.com]":                                   {"hosts: []", "config.http.hosts has to name the service"},
		"{notes: {url: https://notes.example.com/mcp, trust: known}}": {"{}", "config.servers has no server"},
		"\nsecret: weir":                                              {"", "secret is the Secret with the variables of config"},
		"\nanchorSecret: weir-anchor":                                 {"", "anchorSecret is the Secret with key and seal"},
		"${PGPASSWORD}":                                               {"hunter2", "config.store has a password in clear text"},
		"http: {hosts":                                                {"http: {token: none, hosts", "config.http.token has to stand in the secret"},
		", tls: {cert: /etc/weir-tls/tls.crt, key: /etc/weir-tls/tls.key}": {"", "config.http.tls is missing"},
		`from: [{namespaceSelector: {matchLabels: {agents: "yes"}}}]`:      {"from: []", "from has to name the pods and namespaces"},
	} {
		if strings.Count(fleet, from) != 1 {
			t.Fatalf("%q", from)
		}
		output, err := rendered(t, strings.Replace(fleet, from, c.to, 1), "template", "one", packed)
		if err == nil || !strings.Contains(output, c.want) {
			t.Errorf("%q: %v\n%.500s", c.to, err, output)
		}
	}
}
