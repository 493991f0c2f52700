package trace

import (
	"slices"

	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/provenance"
)

// receivers returns those who learn of the call. Where nobody states the destinations, it is the server, and every
// place that the arguments may lead to.
func (t *callTracer) receivers(c *Call, roles policy.Roles) []receiver {
	if t.facts.Call.Self || t.facts.Call.Readable {
		return nil // nobody learns of it who may not read the session's data
	}
	server := t.server(c)
	var all []receiver
	if !server.vouched || !roles.Known || len(roles.Destinations) == 0 {
		all = append(all, server)
	}
	for _, a := range roles.Destinations {
		if !roles.Known && !leadsSomewhere(&t.texts, a.Text) {
			continue
		}
		all = append(all, t.places(c, a)...)
	}
	if roles.Cut {
		all = append(all, receiver{elsewhere, false, policy.MostBits})
	}
	if !t.facts.Egress() { // so nobody outside learns of it
		all = slices.DeleteFunc(all, func(r receiver) bool { return r.key == elsewhere })
	}
	return all
}

// server returns the call's server as a receiver.
func (t *callTracer) server(c *Call) receiver {
	r := receiver{"server " + c.Server, c.Vouched || !t.facts.Session.Label.Private, toolBits}
	if !rawjson.HasMembers(c.Arguments) {
		r.base = choiceBits
	}
	return r
}

// places returns the receivers at a destination: the places that the user's wishes name, sites among them, those in the
// operator's own domains, or anybody.
func (t *callTracer) places(c *Call, a policy.Argument) (all []receiver) {
	v, read := t.place(a), t.texts.Read(a.Text)
	named := v.Whole && v.From.Only(provenance.User)
	if !read.Sure {
		if named {
			return []receiver{{"place " + c.Server + " " + clip(a.Text), true, callBits}}
		}
		return []receiver{{elsewhere, false, callBits}}
	}
	for _, p := range read.Places {
		switch {
		case p.Kind == address.Web && (named || t.session.wished[bare(p.Host)]), address.Within(p.Host, t.domains):
			all = append(all, receiver{"host " + bare(p.Host), true, callBits})
		case named:
			all = append(all, receiver{"place " + p.Name, true, callBits})
		default:
			all = append(all, receiver{elsewhere, false, callBits})
		}
	}
	return all
}

// measure finds out how much the call can tell, and its receivers.
func (t *callTracer) measure(c *Call, found *Finding, roles policy.Roles) {
	f := t.facts
	params := c.Params
	if _, ok := rawjson.Get(params, "_meta"); ok { // of which servers are told next to nothing, or that are vouched for
		params, _ = rawjson.Set(params, []byte("{}"), "_meta")
	}
	written := max(spaceBits(params)+escapeBits(params), spaceBits(c.Arguments)+escapeBits(c.Arguments))
	m := meter{t: t, place: setOf(roles.Destinations), open: !f.Session.Label.Private, spent: written}
	if c.Arguments != nil {
		m.spent += goesOn
		m.tree(c.Arguments, c.Schema)
	}
	if c.UndeclaredParams != nil {
		m.spent += goesOn
		m.tree(c.UndeclaredParams, nil)
	}
	if task, ok := rawjson.Get(c.Params, "task"); ok {
		m.spent += goesOn
		m.tree(task, nil)
	}
	if found.Cut || roles.Cut {
		m.spent = policy.MostBits
	}
	found.bits, found.to = min(m.spent, policy.MostBits), t.receivers(c, roles)
	found.beside, found.undeclared = written+emptyBits(c.Arguments, map[string]bool{}), c.UndeclaredNames
	for name := range rawjson.Members(c.UndeclaredParams) {
		found.undeclared = append(slices.Clip(found.undeclared), name)
	}
	for _, r := range found.to {
		if f.Session.Label.Private || !r.vouched {
			f.Call.Leak = max(f.Call.Leak, min(found.bits+r.base, policy.MostBits))
		}
	}
}

// parts joins the kinds of the values by the parts that they play. Values that the operator does not name are content:
// an agent chose to send them along. Where the operator states nothing, all of them play both.
func (t *callTracer) parts(found *Finding, roles policy.Roles) {
	var from, smallFrom, destination, content provenance.Kinds
	call := &t.facts.Call
	destinations, contents := roles.Destinations, slices.Clip(roles.Contents)
	if !roles.Known {
		destinations = slices.Concat(destinations, contents)
		contents = destinations
	}
	isDestination := setOf(roles.Destinations)
	isContent := setOf(contents)
	for i := range found.Values {
		v := &found.Values[i]
		call.MadeLinks = call.MadeLinks || t.makesLink(v) || t.mentions(v)
		call.Identifies = call.Identifies || v.identifies()
		if v.Destination = isDestination[v.Argument]; v.Destination {
			place := t.place(v.Argument)
			v.From, v.Whole, v.Listed = place.From, place.Whole, t.session.directory.listed(t.facts.Server.Name, v.Text)
		}
		if !v.Destination && !isContent[v.Argument] {
			contents = append(contents, v.Argument)
		}
		if small(v.Text) {
			smallFrom |= v.From
		} else {
			from |= v.From
		}
	}
	for _, a := range destinations {
		v := t.place(a)
		if destination |= v.From; !v.Whole || v.From == 0 {
			destination |= provenance.Novel
		}
	}
	for _, a := range contents {
		v := t.value(a)
		if !small(v.Text) {
			content |= v.From
		}
		links := t.leads(&v)
		call.Links = call.Links || links
		call.Orders = call.Orders || links && orders(t.facts.Resources, v.Text)
	}
	if roles.Cut {
		from, destination, content = from|provenance.Novel, destination|provenance.Novel, content|provenance.Novel
		call.Links, call.MadeLinks, call.Orders, call.Identifies = true, true, true, true
	}
	call.From, call.SmallFrom = kindSet(from), kindSet(smallFrom)
	call.DestinationFrom, call.ContentFrom = kindSet(destination), kindSet(content)
}
