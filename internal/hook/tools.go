package hook

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-mcp/weir/internal/cmdline"
	"github.com/weir-mcp/weir/internal/pattern"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/overlay"
)

// Overlay returns the contracts of the tools of the host.
func (h *Host) Overlay() (*overlay.Set, error) {
	return overlay.Load("hook/"+h.ID+".yaml", h.overlay)
}

// arguments returns the arguments of a call with the folders that a search looks through.
func (e *Event) arguments(known Ground) (json.RawMessage, error) {
	s, searches := e.Host.searches[e.Tool]
	if !searches {
		return e.Input, nil
	}
	all := e.folders(known, s)
	var value any = all
	if s.path != severalPaths {
		value = all[0]
	}
	return withMembers(e.Input, map[string]any{s.path: value})
}

// strange says which argument nothing is known of, or which path leads elsewhere in the host; "" if there is none, or
// the whole tool is not known, which may do anything.
func (e *Event) strange(known Ground) string {
	members, ok := e.Host.tools[e.Tool]
	if !ok {
		return ""
	}
	for name := range rawjson.Members(e.Input) {
		if !slices.Contains(members, name) {
			return fmt.Sprintf("nothing is known of the argument %+.80q", name)
		}
	}
	if slices.Contains(e.Host.expands, e.Tool) {
		for name, v := range rawjson.Members(e.Input) {
			if text, ok := rawjson.String(v); !ok && rawjson.Kind(v) != 'n' || strings.Contains(text, "@") {
				return fmt.Sprintf("the host may put files into the text of the argument %+.80q", name)
			}
		}
	}
	if s, searches := e.Host.searches[e.Tool]; searches && e.reachesHosts(known, cmdline.Deed{Within: e.folders(known, s)}) {
		return "the search may lead to another machine"
	}
	return e.oddPath(known)
}

// reachesHosts reports whether a path may lead to another host: by a share of Windows, or a folder in which hosts are
// mounted when they are named, by its text or where its links lead. To look at it would be a connection already.
func (e *Event) reachesHosts(known Ground, deed cmdline.Deed) bool {
	return slices.ContainsFunc(slices.Concat(deed.Within, deed.Shows, deed.Writes, deed.Into), func(p string) bool {
		if cmdline.NamesHost(p) {
			return true
		}
		known := known
		if !strings.HasPrefix(p, "/") {
			p = e.Folder + "/" + p
			if isAnywhere(e) {
				known = nil
			}
		}
		return cmdline.NamesHost(path.Clean(p)) || known != nil && len(known.Locate(Server, p).Names) == 0
	})
}

// behind reports whether the call goes to one of the entries that run Weir, which decides on it there.
func (e *Event) behind(entries []string) bool {
	if slices.Contains(e.Host.resources, e.Tool) {
		raw, _ := rawjson.Get(e.Input, "server")
		server, _ := rawjson.String(raw)
		return slices.Contains(entries, server)
	}
	return slices.ContainsFunc(entries, func(entry string) bool { return e.Host.serves(e, entry) })
}

// servesDoubly is for hosts with names like mcp__SERVER__TOOL. A name that could be that of a tool of another entry,
// whose name continues the entry's, is not taken for one.
func servesDoubly(e *Event, entry string) bool {
	tool, ok := strings.CutPrefix(e.Tool, "mcp__"+entry+"__")
	return ok && !strings.Contains(entry, "__") && !strings.HasPrefix(tool, "_") && !strings.Contains(tool, "__")
}

// servesTold is for hosts that tell the server of a call.
func servesTold(e *Event, entry string) bool {
	return e.Server == entry && strings.HasPrefix(e.Tool, "mcp_")
}

// servesNamed is for hosts that tell the server of a call in an event of its own.
func servesNamed(e *Event, entry string) bool { return e.Server == entry }

// elsewhere reports whether another event of the same call says more of it, and is decided on.
func (e *Event) elsewhere() bool {
	d := e.Host.detail
	return d.event != "" && e.Told != d.event && strings.HasPrefix(e.Tool, d.prefix)
}

// servesDashed is for hosts with names like SERVER-TOOL, which have servers in no file, such as github-mcp-server. So only the
// name that weir install writes is believed, which none of these begins with. See install.ReadNames for those in files.
func servesDashed(e *Event, entry string) bool {
	tool, ok := strings.CutPrefix(e.Tool, "weir-")
	return entry == "weir" && ok && tool != ""
}

// servesLowered is for hosts with names like SERVER_TOOL. Others of that name in files see install.ReadNames; plugins and tools of
// the user, and of a project, are code in the host anyway.
func servesLowered(e *Event, entry string) bool {
	tool, ok := strings.CutPrefix(e.Tool, "weir_")
	return entry == "weir" && ok && tool != ""
}

// servesShortly is for hosts with names like mcp_SERVER_TOOL that cut and fold the name of the server. So only the name
// that weir install writes is believed.
func servesShortly(e *Event, entry string) bool {
	tool, ok := strings.CutPrefix(e.Tool, "mcp_weir_")
	return entry == "weir" && ok && tool != ""
}

// severalPaths is the argument that may be one path or a list of them; overlays see a list.
const severalPaths = "paths"

// everything is the folder of a search of which it is not known where it looks.
const everything = "/"

// folders returns the folders that a search looks through, as absolute paths or as given.
func (e *Event) folders(known Ground, s search) []string {
	for _, name := range s.patterns {
		raw, given := rawjson.Get(e.Input, name)
		if pattern, ok := rawjson.String(raw); given && (!ok || !inside(pattern)) {
			return []string{everything}
		}
	}
	raw, given := rawjson.Get(e.Input, s.path)
	if !given {
		if s.everywhere {
			return []string{everything}
		}
		return []string{e.Folder}
	}
	all := []string{}
	for one := range listed(raw, s.path == severalPaths) {
		p, ok := rawjson.String(one)
		if !ok || odd(p) != "" || s.path == severalPaths && strings.ContainsAny(p, " ,;:'\"*?[]{}()$%") ||
			e.Host.roams && !filepath.IsAbs(p) || (s.everywhere || s.path == severalPaths) && !e.exists(known, p) {
			return []string{everything}
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return []string{everything}
	}
	return all
}

// listed returns the elements of an argument that may be a list, or the argument itself.
func listed(raw []byte, may bool) func(func([]byte) bool) {
	if may && rawjson.Kind(raw) == '[' {
		return func(yield func([]byte) bool) {
			for one := range rawjson.Elements(raw) {
				if !yield(one) {
					return
				}
			}
		}
	}
	return func(yield func([]byte) bool) { yield(raw) }
}

// exists reports whether there is something at a path from the working directory.
func (e *Event) exists(known Ground, p string) bool {
	if !filepath.IsAbs(p) {
		p = filepath.Join(e.Folder, p)
	}
	_, err := look(known, p)
	return err == nil
}

// oddPath says why the host may find another file than Weir by the path of a call; "" if both find the same.
func (e *Event) oddPath(known Ground) string {
	name, takes := e.Host.paths[e.Tool]
	raw, given := rawjson.Get(e.Input, name)
	if !takes || !given {
		return ""
	}
	p, ok := rawjson.String(raw)
	if !ok {
		return fmt.Sprintf("the path %s is no text", name)
	}
	if why := odd(p); why != "" {
		return why
	}
	if e.Host.roams && !filepath.IsAbs(p) {
		return fmt.Sprintf("it is not known in which folder the host looks for %+.80q", p)
	}
	if e.reachesHosts(known, cmdline.Deed{Within: []string{p}}) {
		return fmt.Sprintf("the path %+.80q may lead to another machine", p)
	}
	if e.Tool == e.Host.finds && !filepath.IsAbs(p) && !e.exists(known, p) {
		return fmt.Sprintf("there is no file %+.80q, and the host may look for it elsewhere", p)
	}
	return ""
}

// odd says why a host may read a path otherwise than Weir, which joins it to the working directory; "" for plain
// paths.
func odd(p string) string {
	strange := func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsPrint(r) || r == '\\' && runtime.GOOS != "windows"
	}
	clean := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(p), "./"), "/")
	switch {
	case p == "" || strings.TrimSpace(p) != p || strings.ContainsAny(p[:1], "@~$%") || strings.ContainsFunc(p, strange),
		slices.Contains(strings.Split(clean, "/"), ".."), clean != "" && clean != filepath.ToSlash(filepath.Clean(clean)):
		return fmt.Sprintf("a host may read the path %+.80q in its own way", p)
	}
	return ""
}

// inside reports whether a pattern can match below its folder alone, whichever library reads it.
func inside(pattern string) bool {
	plain := alternatives().ReplaceAllString(pattern, "x")
	return belowOnly().MatchString(plain) && !strings.Contains(plain, "..")
}

var (
	alternatives = pattern.New(`\{[A-Za-z0-9_*-]+(,[A-Za-z0-9_*-]+)*\}`)
	belowOnly    = pattern.New(`^[\pL\pN_*?.-][\pL\pN_*?./-]*$`)
)

func withMembers(args json.RawMessage, members map[string]any) (json.RawMessage, error) {
	for name, v := range members {
		text, err := json.Marshal(v)
		if err == nil {
			args, err = rawjson.Set(args, text, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return args, nil
}
