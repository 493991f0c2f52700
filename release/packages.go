package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // a format of nfpm registers itself
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	homepage    = "https://github.com/weir-mcp/weir"
	description = "A security gateway for the Model Context Protocol"
)

//go:embed static/weir.service
var unit []byte

//go:embed static/sysusers.conf
var sysusers []byte

//go:embed static/postinstall.sh
var postinstall []byte

// packages writes the packages of Linux distributions: program, manual, licence, and the unit of a gateway for many
// users.
func (r *release) packages(p program, pages []file) error {
	if p.target.os != "linux" {
		return nil
	}
	licence, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return err
	}
	all := []file{
		{"usr/bin/weir", 0o755, p.data},
		{"usr/lib/systemd/system/weir.service", 0o644, unit},
		{"usr/lib/sysusers.d/weir.conf", 0o644, sysusers},
		{"usr/share/doc/weir/copyright", 0o644, licence},
	}
	for _, page := range pages {
		page.name = path.Join("usr", page.name)
		all = append(all, page)
	}
	dir, err := os.MkdirTemp("", "weir-package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var contents files.Contents
	for i, f := range all {
		source := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(source, f.data, 0o600); err != nil {
			return err
		}
		contents = append(contents, &files.Content{Source: source, Destination: "/" + f.name, FileInfo: &files.ContentFileInfo{
			Owner: "root", Group: "root", Mode: os.FileMode(f.mode), MTime: r.time,
		}})
	}
	script := filepath.Join(dir, "postinstall")
	if err := os.WriteFile(script, postinstall, 0o700); err != nil {
		return err
	}
	if err := os.Chtimes(script, r.time, r.time); err != nil { // apk keeps it
		return err
	}
	for _, format := range []string{"deb", "rpm", "apk"} {
		if err := r.pack(format, p.target, contents, script); err != nil {
			return fmt.Errorf("packing %s: %w", format, err)
		}
	}
	return nil
}

func (r *release) pack(format string, t target, contents files.Contents, script string) error {
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "weir", Arch: t.arch, Platform: t.os, Version: r.version, Section: "net", Priority: "optional",
		Maintainer: "The authors of Weir <weir@weir.dev>", Vendor: "Weir", Homepage: homepage, License: "Apache-2.0",
		Description: description, MTime: r.time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents, Scripts: nfpm.Scripts{PostInstall: script}},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := packager.Package(info, &buf); err != nil {
		return err
	}
	return r.write(packager.ConventionalFileName(info), buf.Bytes())
}
