package files

import (
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/lasting"
	"github.com/weir-mcp/weir/internal/speech"
)

// Own returns which of Weir's own resources a call would touch, "" if none: a file, by any path or link to it; a folder
// around one that the call moves or removes; an address where Weir serves; its process; a command of Weir that is for a
// person. It looks at every text of the call, as a path, and as the text of a command that may name one.
func (g *Ground) Own(t guard.Touch) string {
	if t.Server == guard.Own || t.Server != "" && g.opts.Servers[t.Server].Far {
		return "" // the calls of a program are looked at one by one; on another machine are none of them
	}
	c := check{Ground: g, site: g.servers[t.Server], touch: t, takes: takesAway(t), disk: newDisk(&g.disks)}
	defer c.disk.release(&g.disks)
	if len(t.Texts) > 0 {
		c.own = g.standing()
		c.disk.folders, c.disk.device = c.own.folders, c.own.device
	}
	for _, a := range t.Texts {
		if text := strings.TrimSpace(a.Text); c.isFolder(text) {
			c.site.bases = appendNew(slices.Clip(c.site.bases), text)
		}
	}
	for _, a := range t.Texts {
		if why := c.text(a); why != "" {
			return why
		}
	}
	return orders(t)
}

// An owned is one of Weir's own files or folders, as it is at the moment.
type owned struct {
	*ownName
	path string // with links followed
	file node
	dir  node // the folder that it is in
}

// An ownName is the path of one of Weir's own files or folders, as it is configured.
type ownName struct {
	name    string
	clean   string // without steps that lead nowhere
	base    string
	telling bool // by its last name it can be nobody else's
}

func newOwnName(path string) ownName {
	base := filepath.Base(path)
	telling := strings.Contains(strings.ToLower(base), "weir.") || strings.HasPrefix(base, "state.db")
	return ownName{path, filepath.Clean(path), base, telling}
}

// A standing is where the names of Weir's own files lead, and the folders on the way.
type standing struct {
	own     []owned
	folders map[string]node
	device  uint64 // a file system that is not one of processes
}

// standing returns where the names lead now. They may lead elsewhere at any time.
func (g *Ground) standing() *standing {
	return g.stands.Get(func() (*standing, lasting.Names) {
		d := &disk{}
		s := &standing{own: make([]owned, len(g.owns)), folders: map[string]node{}}
		plain := true // every name that the outcome depends on was looked at
		for i := range g.owns {
			e := d.follow(g.owns[i].name)
			plain = plain && !e.blind && e.process == "" && (!e.unsure || e.node.linked)
			s.own[i] = owned{&g.owns[i], e.path, d.stat(e.path), d.stat(filepath.Dir(e.path))}
			s.own[i].file.linked, s.own[i].dir.linked = false, false // a name that comes elsewhere is no matter of this one
		}
		d.stat(sep) // which is around all others
		names := make(lasting.Names, len(d.seen))
		for name, e := range d.seen {
			plain = plain && (e.err == nil || isMissing(e.err))
			names[name] = lasting.File
			if e.err == nil && e.node.kind == folder {
				s.folders[name] = e.node
			}
		}
		if !d.processes {
			s.device = d.device
		}
		if !plain {
			return s, nil
		}
		return s, names
	})
}

// text looks at one text of the call.
func (c *check) text(a guard.Text) string {
	text := strings.TrimSpace(a.Text)
	if len(text) <= maxPath && !strings.ContainsAny(text, "\n\r") {
		if why := c.path(text, c.takes && !c.isPlace(a)); why != "" {
			return why
		}
		if why := c.process(a, text); why != "" {
			return why
		}
	}
	if why := c.address(a); why != "" {
		return why
	}
	if isCommand(a.Path) || !a.Content && !a.Name {
		return c.command(text, isCommand(a.Path))
	}
	return ""
}

// path says which of Weir's own files a path leads to, or is around; "" if none.
func (c *check) path(text string, around bool) string {
	if text == "" || !around && c.looked[text] {
		return ""
	}
	if c.looked == nil {
		c.looked = map[string]bool{}
	}
	c.looked[text] = true // returning early ends the check
	text = strings.Trim(text, `"'`)
	if before, _, cut := strings.Cut(text, "\x00"); cut {
		text = before // as programs in C have it
	}
	for _, spelling := range spellings(text) {
		for _, abs := range c.absolutes(spelling, c.site) {
			for _, host := range appendNew(c.site.hosts(abs), hostName(abs)...) {
				for _, way := range appendNew(nil, host, filepath.Clean(host)) {
					if why := c.leads(c.disk.follow(way), around); why != "" {
						return why
					}
				}
			}
		}
	}
	return ""
}

// hostName is an absolute path as it is: a container may have been given a folder under its own name.
func hostName(path string) []string {
	if filepath.IsAbs(path) {
		return []string{path}
	}
	return nil
}

// leads says which of Weir's own files an end is or is in, or is around if the call takes folders away.
func (c *check) leads(e end, takes bool) string {
	if n, err := strconv.Atoi(e.process); err == nil && c.isWeir(n) {
		return "weir's own process"
	}
	if e.blind {
		return "a file that may be weir's own, since " + e.path + " leads each process elsewhere"
	}
	around, own := c.disk.nodes(parents(e.path)), c.own.own
	for i := range own {
		o := &own[i]
		if isIn(e.path, o.path) || isIn(e.path, o.clean) {
			return o.name
		}
		for i := range around {
			switch n := &around[i]; {
			case n.same(&o.file):
				return o.name
			case i == 1 && n.same(&o.dir) && sameName(filepath.Base(e.path), filepath.Base(o.path)):
				return o.name // which may not be there yet
			}
		}
		if takes && c.surrounds(&around[0], o) {
			return o.name + ", which is below " + e.path
		}
	}
	return ""
}

// surrounds reports whether a folder is one of those around an own file, by its path or with links followed.
func (c *check) surrounds(folder *node, o *owned) bool {
	return slices.ContainsFunc(append(parents(o.path)[1:], parents(o.clean)[1:]...), func(dir string) bool {
		n := c.disk.stat(dir)
		return n.same(folder)
	})
}

// isIn reports whether a path is another or below it, by names that some file system may take for the same.
func isIn(path, other string) bool {
	if len(path) > len(other) && path[len(other)] == filepath.Separator {
		path = path[:len(other)]
	}
	return sameName(path, other)
}

// sameName compares names as the laxest file system does: without case, without the dots and spaces that Windows drops
// at the end, and without the name of a stream.
func sameName(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	if a == "" || strings.IndexByte(a, ':') < 0 && a[len(a)-1] != ' ' && a[len(a)-1] != '.' {
		return false
	}
	dir, base := filepath.Split(a)
	base, _, _ = strings.Cut(base, ":")
	base = strings.TrimRight(base, " .")
	return len(dir)+len(base) < len(a) && strings.EqualFold(dir+base, b)
}

// isFolder reports whether a text is an absolute path of a folder: others of the call may be relative to it.
func (c *check) isFolder(text string) bool {
	if text == "" || len(text) > maxPath || !isAbsolute(text) && text[0] != '~' {
		return false
	}
	for _, abs := range c.absolutes(text, c.site) {
		if c.disk.follow(abs).node.kind == folder {
			return true
		}
	}
	return false
}

// wordEnds ends words at the signs of shells.
var wordEnds = strings.NewReplacer(`"`, " ", `'`, " ", ";", " ", ",", " ", "(", " ", ")", " ", "`", " ")

// hits reports whether a command that ends processes names Weir's, or all of them.
func (c *check) hits(text string) bool {
	for _, word := range strings.Fields(wordEnds.Replace(text)) {
		if word == "-1" || slices.ContainsFunc(numbers(word), c.isWeir) {
			return true
		}
		if name := strings.TrimSuffix(strings.ToLower(filepath.Base(word)), ".exe"); name == "weir" || name == "^weir" || name == "^weir$" || name == "weir$" {
			return true
		}
	}
	return false
}

// hitsByPattern reports whether a command ends the processes whose names a regular expression fits, and one of its
// words fits Weir's. Where one fits the whole command line of a process, all of its words have to.
func hitsByPattern(verb string, args []string) bool {
	has := func(options ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(options, a) })
	}
	if verb != "pkill" && !(verb == "killall" && has("-r", "--regexp", "-9r", "-ir", "-qr")) {
		return false
	}
	words := operands(args)
	fit := 0
	for _, word := range words {
		if fits, err := regexp.MatchString("(?i)"+word, "weir"); err == nil && fits && len(word) <= maxNumber {
			fit++
		}
	}
	return fit > 0 && (fit == len(words) || !has("-f", "--full"))
}

// A check looks for Weir's own in one call.
type check struct {
	*Ground
	site  site
	touch guard.Touch
	takes bool // the call may move, remove or replace a folder
	disk  *disk
	own   *standing

	looked map[string]bool // texts that are not paths of Weir's own
	hosts  []string        // the names of this machine; nil: not asked yet
	given  map[*endpoint]bool
}

// process says whether a value is the number of a process of Weir, or of a thread or a group of one.
func (c *check) process(a guard.Text, text string) string {
	all := numbers(text)
	if len(all) == 0 {
		return ""
	}
	for _, word := range append(speech.NameWords(a.Path), speech.NameWords(c.touch.Name)...) {
		if !strings.Contains(word, "pid") && !strings.HasPrefix(word, "process") && !strings.HasPrefix(word, "thread") && !slices.Contains(signals, word) {
			continue
		}
		if slices.ContainsFunc(all, c.isWeir) {
			return "weir's own process " + text
		}
		return ""
	}
	return ""
}

// numbers returns the whole numbers that programs may read a text as.
func numbers(text string) (all []int) {
	if len(text) > maxNumber {
		return nil
	}
	text = address.Fold(text)
	for _, base := range []int{10, 0} {
		if n, err := strconv.ParseInt(text, base, 32); err == nil { // no process has a larger one
			all = append(all, int(n))
		}
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(f) < math.MaxInt32 {
		all = append(all, int(f))
	}
	return all
}

// maxNumber is how long the number of a process may be written, in bytes.
const maxNumber = 64

// isWeir reports whether a number is that of a process of Weir: of this one, of another that runs the same program, of
// a thread of either, or, with a minus, of the group of this one.
func (c *check) isWeir(n int) bool {
	if n == math.MinInt { // has no opposite
		return false
	}
	if n < 0 {
		return c.isWeir(-n) || slices.ContainsFunc(c.opts.Processes, func(own int) bool { return groupOf(own) == -n })
	}
	return slices.Contains(c.opts.Processes, n) || n > 0 && (slices.Contains(c.opts.Processes, leader(n)) || runsWeir(n))
}
