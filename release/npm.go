package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed static/npm/weir.js
var launcher []byte

//go:embed static/npm/README.md
var npmReadme []byte

// A manifest is a package.json.
type manifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Repository   map[string]string `json:"repository"`
	Bin          map[string]string `json:"bin,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged"`
}

// npmPlatform is a target in the words of Node.js.
func npmPlatform(t target) (system, cpu string) {
	system, cpu = t.os, t.arch
	if system == "windows" {
		system = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	return system, cpu
}

// npm writes the package weir-mcp, and one with the program for each platform. The client of npm installs the one that
// fits, by its os and cpu, so that nothing runs and nothing is fetched while it installs.
func (r *release) npm(programs []program) error {
	licence, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return err
	}
	optional := map[string]string{}
	for _, p := range programs {
		system, cpu := npmPlatform(p.target)
		name := fmt.Sprintf("@weir-mcp/%s-%s", system, cpu)
		optional[name] = r.bare()
		m := r.manifest(name, fmt.Sprintf("The program of weir-mcp for %s on %s", system, cpu))
		m.OS, m.CPU = []string{system}, []string{cpu}
		if err := r.npmPackage(m, []file{{"bin/" + p.target.program(), 0o755, p.data}, {"LICENSE", 0o644, licence}}); err != nil {
			return err
		}
	}
	m := r.manifest("weir-mcp", description)
	m.Bin = map[string]string{"weir": "bin/weir.js", "weir-mcp": "bin/weir.js"}
	m.Optional, m.Engines = optional, map[string]string{"node": ">=18"}
	return r.npmPackage(m, []file{
		{"bin/weir.js", 0o755, launcher}, {"README.md", 0o644, npmReadme}, {"LICENSE", 0o644, licence},
	})
}

func (r *release) manifest(name, text string) manifest {
	return manifest{
		Name: name, Version: r.bare(), Description: text, License: "Apache-2.0", PreferUnplug: true,
		Repository: map[string]string{"type": "git", "url": "git+" + homepage + ".git"},
	}
}

// npmPackage writes a package in the form of npm pack.
func (r *release) npmPackage(m manifest, files []file) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	files = append([]file{{"package.json", 0o644, append(text, '\n')}}, files...)
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	var buf bytes.Buffer
	if err := tarball(&buf, files, r.time); err != nil {
		return err
	}
	return r.write("npm/"+npmFile(m.Name, m.Version), buf.Bytes())
}

// npmFile is the name of a package's file.
func npmFile(name, version string) string {
	if name[0] == '@' {
		name = string(bytes.ReplaceAll([]byte(name[1:]), []byte("/"), []byte("-")))
	}
	return name + "-" + version + ".tgz"
}
