package trial

import (
	"strings"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/internal/address"
	"github.com/weir-mcp/weir/label"
	"github.com/weir-mcp/weir/policy"
	"github.com/weir-mcp/weir/record"
)

// An OwnAddress is a mail address to which people have always accepted mail: if it is the user's own, the configuration
// can say so.
type OwnAddress struct {
	Address    string   `json:"address"`
	Principals []string `json:"principals"` // whose answers these are
	Accepted   int      `json:"accepted"`   // requests
	Sessions   int      `json:"sessions"`   // in which they were
	Allowed             // at most
}

// An Undescribed server has tools of which nobody states the parts of the arguments, so that the log has no
// destinations of their calls.
type Undescribed struct {
	Server   string   `json:"server"`
	Tools    []string `json:"tools"`
	Accepted int      `json:"accepted"` // requests about them
}

// An ownGroup are the accepted requests to one address.
type ownGroup struct {
	OwnAddress
	sessions, principals map[string]bool
	tools                map[target]bool
	refused              bool
}

// owns are the addresses of accepted and of refused requests.
type owns map[string]*ownGroup

func (o owns) of(mail string) *ownGroup {
	if o[mail] == nil {
		o[mail] = &ownGroup{sessions: map[string]bool{}, principals: map[string]bool{}, tools: map[target]bool{}}
	}
	return o[mail]
}

// mailOf returns the one mail address to which a call of a known or trusted server goes; "" if there is no such one.
func mailOf(to target, g *policy.ParsedFacts) string {
	if all := to.list(); len(all) == 1 && g.Server.Trust != contract.Untrusted {
		return address.BareMail(all[0])
	}
	return ""
}

// accept notes an accepted request.
func (o owns) accept(to target, e *record.Event, g *policy.ParsedFacts, conversation string) {
	mail := mailOf(to, g)
	if mail == "" {
		return
	}
	of := o.of(mail)
	of.Address = mail
	of.Accepted++
	of.sessions[conversation], of.principals[e.Principal], of.tools[to.tool()] = true, true, true
}

// refuse notes a refused request: no address in it is proposed, in no spelling.
func (o owns) refuse(to target) {
	for _, d := range to.list() {
		for _, p := range address.Find(d) {
			o.of(strings.ToLower(p.Name)).refused = true
		}
	}
}

// asOwn returns the facts of a call as they would be at most if its destination were the user's own address. Whether
// all of its text is plain, as it has to be, is not in the log.
func asOwn(g *policy.ParsedFacts) *policy.ParsedFacts {
	h := *g
	h.Call.Self, h.Call.DestinationFrom, h.Call.Leak, h.Call.Total = true, label.SetOf("user"), 0, 0
	return &h
}
