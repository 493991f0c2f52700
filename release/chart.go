package main

import (
	"bytes"
	"embed"
	"io/fs"
	"strings"
)

//go:embed all:static/chart
var chartFiles embed.FS

// chart writes the Helm chart of a fleet on PostgreSQL, with the version of the release as its own and the image's.
func (r *release) chart() error {
	var all []file
	err := fs.WalkDir(chartFiles, "static/chart", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := chartFiles.ReadFile(name)
		if strings.HasSuffix(name, "/Chart.yaml") {
			data = bytes.ReplaceAll(data, []byte("0.0.0"), []byte(r.bare()))
		}
		all = append(all, file{"weir/" + strings.TrimPrefix(name, "static/chart/"), 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := tarball(&buf, all, r.time); err != nil {
		return err
	}
	return r.write("helm/weir-"+r.bare()+".tgz", buf.Bytes())
}
