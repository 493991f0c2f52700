package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	layers "github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user of the image: a number, so that a cluster can see that it is not root.
const (
	nobody   = "65532:65532"
	nobodyID = 65532
)

// image writes an OCI layout of the image for Linux: the program, the roots of certificates, a home and a folder for
// temporary files, and neither a shell nor a package manager.
func (r *release) image(programs []program) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	some := false
	for _, p := range programs {
		if p.target.os != "linux" {
			continue
		}
		img, err := r.imageFor(p)
		if err != nil {
			return fmt.Errorf("making the image for %s: %w", p.target, err)
		}
		some = true
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: p.target.os, Architecture: p.target.arch},
		}})
	}
	if !some {
		return nil
	}
	_, err := layout.Write(filepath.Join(r.out, "image"), index)
	if err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	return r.write("image.digest", []byte(digest.String()+"\n"))
}

func (r *release) imageFor(p program) (v1.Image, error) {
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	err := tarInto(archive, []file{
		{"etc/", 0o755, nil},
		{"etc/passwd", 0o644, []byte("weir:x:65532:65532:weir:/home/weir:/sbin/nologin\n")},
		{"etc/ssl/", 0o755, nil}, {"etc/ssl/certs/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, roots()},
		{"home/", 0o755, nil}, {"tmp/", 0o1777, nil},
		{"usr/", 0o755, nil}, {"usr/bin/", 0o755, nil},
		{"usr/bin/weir", 0o755, p.data},
	}, r.time, 0)
	if err == nil {
		err = errors.Join(tarInto(archive, []file{{"home/weir/", 0o700, nil}}, r.time, nobodyID), archive.Close())
	}
	if err != nil {
		return nil, err
	}
	added, err := layers.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	}, layers.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{Layer: added, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: r.time}}})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, configOf(img, r, p.target))
}

func configOf(img v1.Image, r *release, t target) *v1.ConfigFile {
	config, err := img.ConfigFile()
	if err != nil {
		config = &v1.ConfigFile{}
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = t.os, t.arch, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User: nobody, Entrypoint: []string{"/usr/bin/weir"}, Cmd: []string{"run", "--config", "/etc/weir/weir.yaml"},
		Env:        []string{"PATH=/usr/bin", "HOME=/home/weir", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		WorkingDir: "/home/weir", ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.source": homepage, "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return config
}

// roots are the certificates that a program without a system trusts.
func roots() []byte {
	var buf bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&buf, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
	}
	return buf.Bytes()
}
