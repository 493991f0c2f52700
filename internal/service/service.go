// Package service writes the file by which a system keeps weir run going for one user: a unit of systemd, an agent of
// launchd, or a task of Windows.
//
//	job, err := service.For("linux", place, service.Command{Exe: exe, Args: args, Folder: dir})
//	err = job.Write()
//
// Promises:
//
//   - The system starts the program with exactly the arguments that were given, or For returns an error.
//   - A file that weir did not write is neither replaced nor removed; one that was changed since is kept beside it.
//   - Only its user can read the file, since it may hold the values of variables.
package service

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// A Command is the program that a system keeps running.
type Command struct {
	Exe    string   // an absolute path
	Args   []string // behind the program's name
	Folder string   // the working directory, an absolute path
	Env    []string // NAME=value, beside those that the system gives to each program of the user
}

// A Place says where a system looks for the file.
type Place struct {
	Home   string // of the user
	Config string // the user's configuration directory, of the XDG specification
	State  string // Weir's state directory
	User   string // the user's id on macOS, and name on Windows
}

// A Job is a file, and the commands that have the system obey it.
type Job struct {
	Path   string
	Text   string
	Start  []Step
	Stop   []Step // before the file goes
	Forget []Step // after the file is gone
	Query  []string
	Log    string // a command or a file that shows the log

	wide bool // the system wants UTF-16
}

// A Step is one command.
type Step struct {
	Words []string
	May   bool // fail
}

// For returns the job for a system, in the words of runtime.GOOS.
func For(system string, at Place, c Command) (*Job, error) {
	for _, text := range append([]string{c.Exe, c.Folder}, c.Args...) {
		if strings.ContainsFunc(text, barred) {
			return nil, fmt.Errorf("%.200q has characters that cannot be in the file of a service", text)
		}
	}
	for _, v := range c.Env {
		if name, _, _ := strings.Cut(v, "="); strings.ContainsFunc(v, barred) { // never the value: it may be a secret
			return nil, fmt.Errorf("the variable %.64q has characters that cannot be in the file of a service", name)
		}
	}
	var job *Job
	var err error
	switch system {
	case "linux":
		job, err = systemd(at, c)
	case "darwin":
		job, err = launchd(at, c)
	case "windows":
		job, err = task(at, c)
	default:
		return nil, fmt.Errorf("no services of %s are known", system)
	}
	if err != nil {
		return nil, err
	}
	job.Text = strings.Replace(job.Text, unsealed, strings.TrimSuffix(unsealed, zeros)+digest(job.Text), 1)
	return job, nil
}

// barred reports whether no file of a service can have the character.
func barred(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' || r >= 0xFFFE && r <= 0xFFFF }

// The sign by which Weir knows its file, with a digest of the text around it.
const (
	zeros    = "0000000000000000000000000000000000000000000000000000000000000000"
	unsealed = "weir service install wrote this file, sha256:" + zeros
)

var seal = pattern.New(`(weir service install wrote this file, sha256:)([0-9a-f]{64})`)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A Standing is whose the file of a job is. The zero value is the one that nobody may touch.
type Standing int

// The standings.
const (
	Foreign Standing = iota // Weir did not write it
	Changed                 // it was changed since Weir wrote it
	Ours                    // Weir wrote it
	Absent
)

// Look returns whose the file of the job is, and its text.
func (j *Job) Look() (Standing, string, error) {
	info, err := os.Lstat(j.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Absent, "", nil
	case err != nil:
		return Foreign, "", err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return Foreign, "", nil
	}
	raw, err := os.ReadFile(j.Path)
	if err != nil {
		return Foreign, "", err
	}
	text := string(raw)
	if j.wide {
		text = narrowed(raw)
	}
	m := seal().FindStringSubmatch(text)
	switch {
	case m == nil:
		return Foreign, text, nil
	case digest(strings.Replace(text, m[0], m[1]+zeros, 1)) != m[2]:
		return Changed, text, nil
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0: // others can read the values
		return Changed, text, nil
	}
	return Ours, text, nil
}

const maxFile = 1 << 20

// ErrForeign is the error of a file that Weir did not write.
var ErrForeign = errors.New("weir did not write this file")

// Write writes the file, whole or not at all.
func (j *Job) Write() error {
	if err := j.keep(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(j.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".weir-*") // which only its user may read
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	text := []byte(j.Text)
	if j.wide {
		text = widened(j.Text)
	}
	_, err = temp.Write(text)
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), j.Path)
}

// Remove takes the file away.
func (j *Job) Remove() error {
	if err := j.keep(); err != nil {
		return err
	}
	err := os.Remove(j.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was changed, and is kept
	}
	return err
}

// Old is where a file goes that was changed since Weir wrote it: a name of no file that is there.
func (j *Job) Old() string {
	name := j.Path + ".old"
	for i := 2; i <= maxKept; i++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("%s.old%d", j.Path, i)
	}
	return name
}

const maxKept = 100

// keep puts a file aside that was changed since Weir wrote it, and refuses one that Weir did not write.
func (j *Job) keep() error {
	whose, _, err := j.Look()
	switch {
	case err != nil:
		return err
	case whose == Absent:
		return fs.ErrNotExist
	case whose == Foreign:
		return ErrForeign
	case whose == Changed:
		err := os.Chmod(j.Path, 0o600)
		if err == nil {
			err = os.Link(j.Path, j.Old()) // which replaces nothing
		}
		if err == nil {
			err = os.Remove(j.Path)
		}
		return err
	}
	return nil
}
