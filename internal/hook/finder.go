package hook

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/cmdline"
	"github.com/weir-mcp/weir/internal/expression"
)

// Ground knows the files of this machine.
type Ground interface {
	// Foreign says why a file may hold untrusted content; "" if it is the user's own work.
	Foreign(server, path string) string

	// Inside says why a file below a folder may hold untrusted content; "" if all of it is the user's own work, or
	// there is no such folder. Of names that are skipped nothing counts.
	Inside(server, path string, skipped func(name string) bool) string

	// Locate returns where a path leads.
	Locate(server, path string) guard.Place

	// Starts returns a program that git may start by the repository that a file is in, beside a plain clone; "" if
	// there is none.
	Starts(server, path string) string

	// Enters returns a program that git may start if a path is in its index, and with whole all of the work trees
	// around it. It is sure that there are no others unless there are too many names to look at.
	Enters(server, path string, whole bool) (program string, sure bool)
}

const (
	maxLooked  = 4096 // names that are looked at for the patterns of a call
	maxMatches = 64   // files that a pattern may stand for that are looked at one by one
)

// A finder looks for the files that the paths of one call lead to.
type finder struct {
	*Event
	known Ground
	left  int // names that it may still look at

	elsewhere bool // a path may lead to another machine, at which it did not look
}

func newFinder(e *Event, known Ground) *finder {
	return &finder{Event: e, known: known, left: maxLooked}
}

// located returns the files that paths lead to from the folder of the event, each once. Where that may be any folder,
// a relative path may lead to any file.
func (f *finder) located(ctx context.Context, paths []string) []string {
	all := []string{}
	for _, p := range paths {
		if p = f.rooted(p); p == "" {
			p = "/"
		}
		if isPattern(p) {
			some, ok := f.matches(ctx, p)
			if !ok || len(some) > maxMatches || slices.ContainsFunc(some, isPattern) {
				some = []string{"/"} // quoted signs, and names like patterns
			}
			if len(some) > 0 {
				all = append(all, f.located(ctx, some)...)
				continue
			}
		}
		names := f.known.Locate(Server, p).Names
		if len(names) == 0 {
			f.elsewhere, names = true, []string{"/"}
		}
		if path.Clean(p) == strings.TrimSuffix(p, "/.") {
			names = append(names, path.Clean(p)) // a link may tell more by its name
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rooted returns a path from the root; "" where that may be any.
func (f *finder) rooted(p string) string {
	switch {
	case strings.HasPrefix(p, "/"):
		return p
	case isAnywhere(f.Event):
		return ""
	}
	return f.Folder + "/" + p
}

// mayDiffer reports whether a path leads elsewhere by the text of its ".." than by its links.
func (f *finder) mayDiffer(p string) bool {
	p = f.rooted(p)
	return p != "" && len(f.known.Locate(Server, p).Names) > 1
}

// runs reports whether git may run a program of the folders of a deed, as they are and as the deed leaves them. A file
// that programs obey, written in the same line, may change all that git is judged by.
func (f *finder) runs(ctx context.Context, deed cmdline.Deed) bool {
	return slices.ContainsFunc(deed.Within, func(p string) bool { return f.known.Starts(Server, p) != "" }) ||
		slices.ContainsFunc(deed.Writes, func(p string) bool { return !expression.PathPlain(p) }) ||
		slices.ContainsFunc(f.located(ctx, deed.Index.Paths), func(p string) bool {
			program, sure := f.known.Enters(Server, p, deed.Index.Whole)
			return program != "" || !sure && deed.Index.Entered
		})
}

// passesLinks reports whether a path may lead through a link that has been moved: it is where files with links among
// them come to, or below, or is not known without them.
func (f *finder) passesLinks(ctx context.Context, m cmdline.Moves) bool {
	if len(m.After) == 0 || !slices.ContainsFunc(m.From, f.holdsLinks) {
		return false
	}
	to := f.located(ctx, m.To)
	return slices.ContainsFunc(m.After, func(p string) bool {
		return isPattern(p) || strings.Contains(p, "..") || slices.ContainsFunc(f.located(ctx, []string{p}), func(p string) bool {
			return slices.ContainsFunc(to, func(t string) bool { return p == t || strings.HasPrefix(p, strings.TrimSuffix(t, "/")+"/") })
		})
	})
}

// holdsLinks reports whether a path is a link or a folder with links in it, as far as is known.
func (f *finder) holdsLinks(p string) bool {
	p = f.rooted(p)
	if p == "" || isPattern(p) || f.left < 0 || len(f.known.Locate(Server, p).Names) == 0 {
		return true
	}
	info, err := os.Lstat(p)
	switch {
	case err != nil:
		return !os.IsNotExist(err)
	case !info.IsDir():
		return !info.Mode().IsRegular()
	}
	names, err := namesIn(p, f.left+1)
	return err != nil || !f.spend(len(names)) || slices.ContainsFunc(names, func(name string) bool { return f.holdsLinks(p + "/" + name) })
}

func isPattern(p string) bool { return strings.ContainsAny(p, "*?") }

// matches returns the files that a pattern with a rooted path stands for. It is not ok where it has signs of a shell
// beside * and ?, and where it would have to look at too many names, or at those of devices and processes, to which
// links may lead.
func (f *finder) matches(ctx context.Context, pattern string) (paths []string, ok bool) {
	if strings.ContainsAny(pattern, `[\`) {
		return nil, false
	}
	paths = []string{""}
	for part := range strings.SplitSeq(strings.TrimPrefix(pattern, "/"), "/") {
		if ctx.Err() != nil {
			return nil, false
		}
		var next []string
		for _, dir := range paths {
			names := []string{part}
			if isPattern(part) {
				if names, ok = f.namesIn(dir + "/"); !ok {
					return nil, false
				}
			}
			for _, name := range names {
				if fits, _ := path.Match(part, name); fits {
					next = append(next, dir+"/"+name)
				}
			}
		}
		if !isPattern(part) {
			if !f.spend(len(next)) {
				return nil, false
			}
			next = slices.DeleteFunc(next, f.isMissing)
		}
		paths = next
	}
	return paths, true
}

// namesIn returns the names in a folder; none if it is none.
func (f *finder) namesIn(dir string) ([]string, bool) {
	at := f.known.Locate(Server, dir).Names
	f.elsewhere = f.elsewhere || len(at) == 0
	if len(at) == 0 || slices.ContainsFunc(at, isMachine) {
		return nil, false
	}
	if f.left < 0 {
		return nil, false
	}
	names, err := namesIn(dir, f.left+1)
	return names, f.spend(len(names)) && (err == nil || isNoFolder(err))
}

// namesIn returns the names in a folder, up to a number above zero.
func namesIn(dir string, most int) ([]string, error) {
	if isMachine(path.Clean(dir)) {
		return nil, fs.ErrInvalid
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, syscall.ENOTDIR // a pipe would never open
	}
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(most)
	if err == io.EOF {
		err = nil
	}
	return names, err
}

func isNoFolder(err error) bool {
	return os.IsNotExist(err) || os.IsPermission(err) || errors.Is(err, syscall.ENOTDIR)
}

func (f *finder) isMissing(p string) bool {
	if len(f.known.Locate(Server, p).Names) == 0 {
		f.elsewhere = true
		return false
	}
	_, err := os.Lstat(p)
	return err != nil
}

func (f *finder) spend(names int) bool {
	f.left -= names
	return f.left >= 0
}

// isMachine reports whether a path is among devices, processes or other hosts.
func isMachine(p string) bool {
	return slices.ContainsFunc([]string{"/proc", "/sys", "/dev", "/net", "/afs"}, func(folder string) bool {
		return p == folder || strings.HasPrefix(p, folder+"/")
	})
}

// look is [os.Stat] of a path that others chose, which does not look where nothing is known: on other machines, above
// all.
func look(known Ground, p string) (fs.FileInfo, error) {
	if known == nil || len(known.Locate(Server, p).Names) == 0 {
		return nil, fs.ErrInvalid
	}
	return os.Stat(p)
}

// isAnywhere reports whether a command may run in any folder, as far as the event tells.
func isAnywhere(e *Event) bool { return e.Host.roams || e.Folder == "" }
