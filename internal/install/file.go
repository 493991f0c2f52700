package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// How large files may be, in bytes. Some hosts keep their history beside their servers; a project has no reason to.
const (
	maxFile        = 64 << 20
	maxProjectFile = 1 << 20
)

// Read returns the bytes of a file, within the bounds for those of hosts, or of the project that is not "".
func Read(path, project string) ([]byte, error) {
	_, src, err := read(path, project)
	return src, err
}

// read returns where a path leads and what is there. A file of a project has to be a regular file inside of it.
func read(path, project string) (target string, src []byte, err error) {
	if target, err = filepath.EvalSymlinks(path); err != nil {
		return "", nil, err
	}
	limit := int64(maxFile)
	if project != "" {
		limit = maxProjectFile
		root, err := filepath.EvalSymlinks(project)
		if err != nil {
			return "", nil, err
		}
		if rel, err := filepath.Rel(root, target); err != nil || !filepath.IsLocal(rel) {
			return "", nil, errors.New("a link leads out of the project: the file is not read")
		}
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return "", nil, err
	case !info.Mode().IsRegular():
		return "", nil, errors.New("it is no regular file")
	case info.Size() > limit:
		return "", nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	f, err := os.Open(target)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	src, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(src)) > limit {
		err = fmt.Errorf("it is larger than %d bytes", limit)
	}
	return target, src, err
}

// errChanged is the error of a write to a file that is not as it was read.
var errChanged = errors.New("the file has changed since it was read")

// replace writes a file anew, whole or not at all, if it still is as it was before. Mode and owner stay.
func replace(path string, before, after []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return write(path, after, info.Mode().Perm(), func(temp *os.File) error {
		if err := keepOwner(temp, info); err != nil {
			return fmt.Errorf("keeping its owner: %w", err)
		}
		now, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(now, before) {
			err = errChanged
		}
		return err
	})
}

// create writes a file that is not there yet, and that only its user may read.
func create(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return write(path, text, 0o600, func(*os.File) error {
		if _, err := os.Lstat(path); err == nil {
			return errChanged
		}
		return nil
	})
}

// remove takes away a file that still is as it was before.
func remove(path string, before []byte) error {
	now, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(now, before) {
		err = errChanged
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// writeOwn writes a file that only its user may read, whole or not at all.
func writeOwn(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return write(path, text, 0o600, func(*os.File) error { return nil })
}

// write writes a file beside a path and puts it there, if check agrees.
func write(path string, text []byte, mode fs.FileMode, check func(temp *os.File) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".weir-*") // which only its user may read
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(text)
	if err == nil {
		err = check(temp)
	}
	if err == nil {
		err = temp.Chmod(mode)
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir has the names in a directory survive a crash, where the system can do that.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	_ = d.Sync() // Windows and some network file systems cannot
	return nil
}

// digest returns a short name for some bytes.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
