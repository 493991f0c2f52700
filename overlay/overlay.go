// Package overlay holds operators' descriptions of tools: their effects, the destinations of their inputs, the labels
// of their results. An overlay fills in for a server's missing annotations, and takes precedence over existing ones.
//
// Overlays are files in YAML. docs/overlays.md is the manual; this is the format:
//
//	version: 1
//	overlays:
//	  - name: mail                       # unique in its file
//	    title: Company mail              # optional: for people
//	    source: https://docs.example/    # optional: where the facts come from
//	    date: 2026-11-21                 # optional: when they were looked up
//	    checked: "mail-server 1.4"       # optional: the checked version; or unchecked: why not
//	    draft: true                      # optional: not looked at yet; then it only adds to the labels of results
//	    commandLine: true                # optional: arguments become parts of command lines, where options act
//	    match:                           # one item has to fit, with all that it states
//	      - package: "@example/mail"     # the package that the command line runs, without its version
//	        registry: npm                # optional: its registry, npm pypi go image
//	        version: ">=1.2 <2"          # optional: the version in the command line, if it has one
//	      - command: mail-server         # the program's file name
//	      - url: "https://mail.example/*" # glob over the server's URL; * in the path, or as the first label of the host
//	      - server: "mail*"              # glob over the server's name in weir.yaml
//	    tools:                           # exact names, then globs; of these the one with the longest literal part
//	      send_email:
//	        contract:                    # each member optional: the overlay states nothing about an absent one
//	          readOnly: false
//	          destructive: false
//	          idempotent: false
//	          openWorld: true
//	          requiresReview: false
//	          destinations: [public]     # ephemeral system user internal public
//	          accepts: [pii, user]       # user pii financial credentials regulated regulated:SCOPE unspecified; [] is none
//	          outcomes: [irreversible]   # benign consequential irreversible
//	          sources: [system]          # untrustedPublic trustedPublic internal user system
//	          returns: []                # classes as in accepts
//	        when:                        # in order; each whose condition holds replaces the members that it states
//	          - if: host.within(email.domain(call.arguments.to), "example.com")
//	            contract: {destinations: [internal]}
//	            why: colleagues          # optional
//	        arguments:                   # by path: name, a.b, list[*].b; below an object or a list, everything in it
//	          destination: [to, cc]      # where something goes
//	          content: [subject, body]   # the content that goes there
//	        resource:                    # the resources that the call reads or writes: URIs with {path} for arguments
//	          writes: ["mailto:{to}"]    # also reads, and folders: read without all that lies deeper in them
//	        results:                     # labels of results; they only raise
//	          - path: $.items[*].private
//	            equals: true             # optional: a scalar, or a list of them; true if absent
//	            label: {private: true, sensitivity: [pii], untrusted: true, sources: [internal]}
//	      "*": {contract: {openWorld: true}}  # a glob: for tools that no other name fits
//	    resources: {"mail://*": {…}}     # by URI, for resources/read
//	    prompts: {greeting: {…}}         # by name, for prompts/get
//
// Load files with [Load], put the sets in order with [Join] or the overlays of one server with [Stack]: the first that
// states a member has it. [Set.For] finds the overlay of a server, [Overlay.Tool] its description of a tool.
//
// The package promises:
//
//   - A server is matched by the operator's configuration, never by its own statements.
//   - [Tool.Static] bounds every [Tool.Refine]: arguments never take a contract out of it.
//   - A draft raises and lowers nothing, and says nothing of arguments and resources.
//   - A condition that cannot be evaluated raises if it would have raised, and lowers nothing. A result that a rule
//     cannot read counts as matched.
//   - Work is bounded by the sizes of file, arguments and result, and depends on nothing else: no clock, no I/O.
//
// Everything is immutable and safe for concurrent use.
package overlay

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// A Set is the entries of files, in the order in which they count. The zero Set, and nil, have none.
type Set struct {
	entries []*entry
	digest  string
}

// An Entry describes one entry of a file: its subject, and the evidence for it.
type Entry struct {
	Name      string
	Title     string
	Source    string // where the facts come from
	Date      string // when they were looked up, as 2006-01-02
	Checked   string // the version they were checked against
	Unchecked string // why they were not
	Draft     bool   // not reviewed yet: it only raises
	File      string
	Line      int // in the file, from 1
}

// An entry is an Entry that can be applied.
type entry struct {
	Entry
	digest    string // of its file
	programs  bool   // its server starts programs with arguments of the calls
	matches   []match
	tools     definitions
	resources definitions
	prompts   definitions
}

// Join returns the entries of all sets; those of the first come first.
func Join(sets ...*Set) *Set {
	all := &Set{}
	h := sha256.New()
	for _, s := range sets {
		if s == nil {
			continue
		}
		all.entries = append(all.entries, s.entries...)
		h.Write([]byte(s.digest))
	}
	all.digest = hex.EncodeToString(h.Sum(nil))
	return all
}

// Digest identifies the content of the set, in hex: SHA-256 over its files. Sets with the same digest have the same
// content.
func (s *Set) Digest() string {
	if s == nil {
		return ""
	}
	return s.digest
}

// Entries returns the entries of the set, in its order.
func (s *Set) Entries() []Entry {
	if s == nil {
		return nil
	}
	all := make([]Entry, len(s.entries))
	for i, e := range s.entries {
		all[i] = e.Entry
	}
	return all
}

// An Overlay is the description of one server. A nil Overlay is empty.
type Overlay struct{ entries []*entry }

// For returns the overlay of a server; nil if the set has none.
func (s *Set) For(server Server) *Overlay {
	if s == nil {
		return nil
	}
	return s.pick(func(e *entry) bool {
		return slices.ContainsFunc(e.matches, func(m match) bool { return m.fits(server) })
	})
}

// Named returns the overlay of the entries of one name, for any servers; nil if there is none.
func (s *Set) Named(name string) *Overlay {
	if s == nil {
		return nil
	}
	return s.pick(func(e *entry) bool { return e.Name == name })
}

func (s *Set) pick(fits func(*entry) bool) *Overlay {
	var picked []*entry
	for _, e := range s.entries {
		if fits(e) {
			picked = append(picked, e)
		}
	}
	if picked == nil {
		return nil
	}
	return &Overlay{picked}
}

// Stack returns the overlays as one: the first that states a member has it. It is nil if all are empty.
func Stack(overlays ...*Overlay) *Overlay {
	var all []*entry
	for _, o := range overlays {
		if o != nil {
			all = append(all, o.entries...)
		}
	}
	if all == nil {
		return nil
	}
	return &Overlay{all}
}

// Equal reports whether both say the same: whether they are the same entries of files with the same content.
func (o *Overlay) Equal(p *Overlay) bool {
	if o == nil || p == nil {
		return o == p
	}
	return slices.EqualFunc(o.entries, p.entries, func(a, b *entry) bool {
		return a.digest == b.digest && a.Name == b.Name && a.File == b.File
	})
}

// Entries returns the entries that apply, in their order.
func (o *Overlay) Entries() []Entry {
	if o == nil {
		return nil
	}
	return (&Set{entries: o.entries}).Entries()
}

// Names returns the names of tools that the overlay has definitions for, without globs, sorted.
func (o *Overlay) Names() []string {
	if o == nil {
		return nil
	}
	var names []string
	for _, e := range o.entries {
		for _, d := range e.tools {
			if !isGlob(d.pattern) {
				names = append(names, d.pattern)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Tool returns the description of a tool; nil if there is none.
func (o *Overlay) Tool(name string) *Tool {
	return o.find(name, func(e *entry) definitions { return e.tools })
}

// Resource returns the description of reading a resource; nil if there is none.
func (o *Overlay) Resource(uri string) *Tool {
	return o.find(uri, func(e *entry) definitions { return e.resources })
}

// Prompt returns the description of getting a prompt; nil if there is none.
func (o *Overlay) Prompt(name string) *Tool {
	return o.find(name, func(e *entry) definitions { return e.prompts })
}

func (o *Overlay) find(name string, of func(*entry) definitions) *Tool {
	if o == nil {
		return nil
	}
	var layers []*definition
	for _, e := range o.entries {
		if d := of(e).find(name); d != nil {
			layers = append(layers, d)
		}
	}
	if layers == nil {
		return nil
	}
	return newTool(layers)
}
