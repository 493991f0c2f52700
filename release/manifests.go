package main

import (
	"bytes"
	"embed"
	"strings"
	"text/template"
)

//go:embed static/*.tmpl
var templates embed.FS

// manifests writes the formula of Homebrew and the manifests of winget, as far as their archives are there.
func (r *release) manifests() error {
	parsed, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"url": func(system, arch string) string {
			return homepage + "/releases/download/" + r.version + "/" + r.archiveName(target{system, arch})
		},
		"sum":   func(system, arch string) string { return r.sums[r.archiveName(target{system, arch})] },
		"upper": strings.ToUpper,
	}).ParseFS(templates, "static/*.tmpl")
	if err != nil {
		return err
	}
	for _, m := range []struct{ template, name, needs string }{
		{"weir.rb.tmpl", "homebrew/weir.rb", "linux darwin"},
		{"winget.version.yaml.tmpl", "winget/WeirMCP.Weir.yaml", "windows"},
		{"winget.locale.yaml.tmpl", "winget/WeirMCP.Weir.locale.en-US.yaml", "windows"},
		{"winget.installer.yaml.tmpl", "winget/WeirMCP.Weir.installer.yaml", "windows"},
	} {
		if !r.has(m.needs) {
			continue
		}
		var buf bytes.Buffer
		if err := parsed.ExecuteTemplate(&buf, m.template, map[string]string{
			"Version": r.bare(), "Homepage": homepage, "Description": description,
		}); err != nil {
			return err
		}
		if err := r.write(m.name, buf.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the release has the archives of some systems, on both processors.
func (r *release) has(systems string) bool {
	for system := range strings.FieldsSeq(systems) {
		for _, arch := range []string{"amd64", "arm64"} {
			if r.sums[r.archiveName(target{system, arch})] == "" {
				return false
			}
		}
	}
	return true
}
