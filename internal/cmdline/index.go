package cmdline

import (
	"slices"
	"strings"
)

// An Index is the part of git's index that a line has recorded itself before it runs git again. To tell whether a work
// tree has changed, git enters each repository that the index names, and runs the programs of its settings. One that
// the line itself records is not in the index when the line is judged.
type Index struct {
	Paths   []string // files and folders, as in a Deed
	Whole   bool     // the work trees around them too
	Entered bool     // git compares the index with the work tree; else it is committed once
}

// ofGit notes a command of git by the parts before it, which may have changed all that git is judged by.
func (w *walk) ofGit(r read) {
	c := r.command
	if slices.Index(doings, w.deed.Does) > slices.Index(doings, Writing) {
		w.atLeast(Building)
	}
	if len(w.index.Paths) > 0 && !(c.git == ofObjects && r.shows() == nothing) {
		entered := w.deed.Index.Entered || w.committed || !r.commitsIndex()
		w.deed.Index, w.committed = Index{slices.Clone(w.index.Paths), w.index.Whole, entered}, true
	}
	switch whole := r.recordsAll(); {
	case c.git != recording:
	case whole:
		w.index.Paths, w.index.Whole = append(w.index.Paths, w.folder()), true
	default:
		for _, o := range r.operands {
			w.index.Paths = append(w.index.Paths, w.below(o.text))
		}
	}
}

// commitsIndex reports whether a command of git commits the index as it is, without an editor, which would show the
// state of the work tree. A second such command shows it, since it has nothing to commit.
func (r read) commitsIndex() bool {
	commits := r.command.git == recording && r.command.operands == 0 && !r.recordsAll() && !r.has("-v")
	return commits && (r.has("-m --message") || r.has("--amend") && r.has("--no-edit"))
}

// recordsAll reports whether a command of git may record more than the files and folders that it names: git takes some
// words for patterns, and without any all that has changed in the work tree.
func (r read) recordsAll() bool {
	return r.command.git == recording && (len(r.operands) == 0 && (r.command.operands != 0 || r.has("-a -am --all")) ||
		slices.ContainsFunc(r.operands, func(o word) bool { return o.text == "" || o.text[0] == ':' || strings.ContainsAny(o.text, `*?[\`) }))
}

// Moves are files that a part of a line moves, or copies as they are. Links among them lead elsewhere than the paths
// behind that part did before it.
type Moves struct {
	From, To []string
	After    []string // paths of parts behind, apart from those of builds
}

// after notes paths that a part looks at behind others that have moved files.
func (w *walk) after(paths ...string) {
	if len(w.moves.To) > 0 && len(paths) > 0 {
		w.deed.Moves = Moves{slices.Clone(w.moves.From), slices.Clone(w.moves.To), append(w.deed.Moves.After, paths...)}
	}
}
