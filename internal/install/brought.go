package install

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/hostfile"
	"github.com/weir-mcp/weir/internal/hosts"
	"github.com/weir-mcp/weir/internal/rawjson"
)

// Substitutes reports whether a host puts other text into a file of its own before it reads it, such as that of a file
// or a variable. Then the file says something else to Weir than to the host.
func Substitutes(h hosts.Host, src []byte) bool {
	return h.Hooks != nil && slices.ContainsFunc(h.Hooks.Inlines, func(mark string) bool { return bytes.Contains(bytes.ToLower(src), []byte(mark)) })
}

// Brought returns the files of a project by which a host may put files of the user into conversations, with no tool and
// no hook: settings that are not known to put none there, and texts that lead elsewhere. It returns all that it looked
// at, too.
func Brought(m hosts.Machine, h hosts.Host, project string) (by, looked []string) {
	if h.Hooks == nil || len(h.Hooks.Inlines) == 0 {
		return nil, nil
	}
	for _, file := range slices.Concat(h.Hooks.Offs, h.Hooks.Texts) {
		if strings.HasPrefix(file, ".opencode/") && m.Home != "" && filepath.Clean(project) == filepath.Clean(m.Home) {
			continue // the user's own
		}
		path := filepath.Join(project, filepath.FromSlash(file))
		looked = append(looked, path)
		if !slices.Contains(h.Hooks.Offs, file) {
			more, all := texts(h, path, project)
			by, looked = append(by, more...), append(looked, all...)
			continue
		}
		if _, src, err := read(path, project); !absent(err) && (err != nil || draws(h, src)) {
			by = append(by, path)
		}
	}
	return by, looked
}

// draws reports whether the settings of a project may put files into conversations.
func draws(h hosts.Host, src []byte) bool {
	data := hostfile.Standard(src)
	if Substitutes(h, src) || rawjson.Check(data) != nil || rawjson.Kind(data) != '{' {
		return true
	}
	for name := range rawjson.Members(data) {
		if !slices.Contains(h.Hooks.Plain, name) {
			return true
		}
	}
	return false
}

// texts looks at a text of a project that the host puts into conversations, or at a folder of such texts.
func texts(h hosts.Host, root, project string) (by, looked []string) {
	target, err := filepath.EvalSymlinks(root)
	if absent(err) {
		return nil, nil
	}
	n := 0
	if err == nil {
		err = filepath.WalkDir(target, func(path string, d fs.DirEntry, err error) error {
			if n++; err != nil || n > maxAgents {
				return errors.Join(err, errors.New("the folder cannot be read, or has too many files"))
			}
			looked = append(looked, path)
			if path != target && d.IsDir() || path == target && d.IsDir() && inProject(root, project) {
				return nil
			}
			at := path
			if path == target {
				at = root
			}
			if leads, src, err := read(at, project); err != nil || at == root && filepath.Ext(leads) != filepath.Ext(root) ||
				d.Type()&fs.ModeSymlink != 0 && filepath.Ext(leads) != ".md" || at != root && refers(h, root, src) {
				by = append(by, at)
			}
			return nil
		})
	}
	if err != nil {
		by = append(by, root)
	}
	return by, looked
}

// inProject reports whether a path leads into a project.
func inProject(path, project string) bool {
	target, err := filepath.EvalSymlinks(path)
	root, failed := filepath.EvalSymlinks(project)
	if err != nil || failed != nil {
		return false
	}
	rel, err := filepath.Rel(root, target)
	return err == nil && filepath.IsLocal(rel)
}

// refers reports whether a text in a folder may have the host add a file to it, or to a command also the output of a
// program.
func refers(h hosts.Host, folder string, src []byte) bool {
	command := strings.HasPrefix(filepath.Base(folder), "command")
	return Substitutes(h, src) || command && (bytes.ContainsRune(src, '@') || bytes.Contains(src, []byte("!`")))
}
