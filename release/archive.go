package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A file is a file of an archive.
type file struct {
	name string // with slashes
	mode int64
	data []byte
}

// write writes a file of the release, and keeps its digest.
func (r *release) write(name string, data []byte) error {
	sum := sha256.Sum256(data)
	r.sums[name] = hex.EncodeToString(sum[:])
	full := filepath.Join(r.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return os.WriteFile(full, data, 0o644)
}

// bare is the version without its v.
func (r *release) bare() string { return strings.TrimPrefix(r.version, "v") }

// archiveName is the name of the archive with the program for a target.
func (r *release) archiveName(t target) string {
	suffix := ".tar.gz"
	if t.os == "windows" {
		suffix = ".zip"
	}
	return fmt.Sprintf("weir_%s_%s_%s%s", r.bare(), t.os, t.arch, suffix)
}

// archive writes the archive with a program, the licence and the manual.
func (r *release) archive(p program, pages []file) error {
	files := []file{{p.target.program(), 0o755, p.data}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return err
		}
		files = append(files, file{name, 0o644, data})
	}
	pack := tarball
	if p.target.os == "windows" {
		pack = zipped
	} else {
		files = append(files, pages...)
	}
	var buf bytes.Buffer
	if err := pack(&buf, files, r.time); err != nil {
		return err
	}
	return r.write(r.archiveName(p.target), buf.Bytes())
}

// tarball writes a compressed tar that depends on nothing but the files and the time.
func tarball(w io.Writer, files []file, modified time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := tarred(compressed, files, modified); err != nil {
		return err
	}
	return compressed.Close()
}

func tarred(w io.Writer, files []file, modified time.Time) error {
	archive := tar.NewWriter(w)
	if err := tarInto(archive, files, modified, 0); err != nil {
		return err
	}
	return archive.Close()
}

// tarInto adds files of an owner to a tar.
func tarInto(archive *tar.Writer, files []file, modified time.Time, owner int) error {
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: modified, Format: tar.FormatUSTAR,
			Uid: owner, Gid: owner,
		}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	return nil
}

func zipped(w io.Writer, files []file, modified time.Time) error {
	archive := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified}
		h.SetMode(os.FileMode(f.mode))
		member, err := archive.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := member.Write(f.data); err != nil {
			return err
		}
	}
	return archive.Close()
}
