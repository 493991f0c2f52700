package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"

	"github.com/CycloneDX/cyclonedx-go"
)

// modules writes the list of the modules that are linked into a program, read from the program itself, as CycloneDX.
func (r *release) modules(p program) error {
	info, err := buildinfo.Read(bytes.NewReader(p.data))
	if err != nil {
		return fmt.Errorf("reading its modules: %w", err)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.time.Format("2006-01-02T15:04:05Z"),
		Component: &cyclonedx.Component{
			Type: cyclonedx.ComponentTypeApplication, BOMRef: "weir", Name: "weir", Version: r.version,
			PackageURL: purl("github.com/weir-mcp/weir", r.version),
		},
	}
	components := []cyclonedx.Component{
		library("std", info.GoVersion),
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, library(m.Path, m.Version))
	}
	refs := make([]string, len(components))
	for i, c := range components {
		refs[i] = c.BOMRef
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: "weir", Dependencies: &refs}}
	var buf bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&buf, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		return err
	}
	return r.write(fmt.Sprintf("weir_%s_%s_%s.cdx.json", r.bare(), p.target.os, p.target.arch), buf.Bytes())
}

func library(name, version string) cyclonedx.Component {
	url := purl(name, version)
	return cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, BOMRef: url, Name: name, Version: version, PackageURL: url, Scope: cyclonedx.ScopeRequired,
	}
}

func purl(name, version string) string { return "pkg:golang/" + name + "@" + version }
