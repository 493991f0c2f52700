package audit

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"
)

// readLinks reads the ends of the chains that are kept.
func (v *verification) readLinks(ctx context.Context) error {
	for l, err := range v.st.Links(ctx) {
		if err != nil {
			return err
		}
		v.links = append(v.links, l)
		v.chains[l.ID] = &chain{Link: Link{ID: l.ID}}
	}
	return nil
}

// checkLinks compares the ends of the chains that are kept with those of the rows.
func (v *verification) checkLinks(context.Context) error {
	named := make(map[string]ID, len(v.links))
	for _, l := range v.links {
		c := v.chains[l.ID]
		if other, twice := named[l.Name]; twice {
			v.find(-1, "the chains %s and %s are both kept as %.60q", other, l.ID, l.Name)
		}
		named[l.Name] = l.ID
		if c.Next == 0 {
			v.find(-1, "the chain %s is kept, and has no entries", l.ID)
			continue
		}
		v.Chains++
		if c.Next != l.Next || c.Last != l.Last {
			v.find(-1, "the chain %s ends at number %d, and was kept as ending at number %d, or there with another entry",
				l.ID, c.Next-1, l.Next-1)
		}
		if closed := l.Name == l.ID.String(); closed && !c.erased || !closed && (!c.named || c.Name != l.Name) {
			v.find(-1, "the chain %s is kept as %.60q, and its entries say %.60q", l.ID, l.Name, c.Name)
		}
	}
	return nil
}

// checkEnds compares the commitment to the ends of the chains, and the nodes that are kept of it, with those of the
// rows.
func (v *verification) checkEnds(ctx context.Context, head Head) error {
	if head.Ends == (tlog.Hash{}) || v.broken {
		return nil
	}
	var open []Link
	for _, c := range v.chains {
		if !c.erased && c.named {
			open = append(open, c.Link)
		}
	}
	for _, l := range v.links {
		if v.chains[l.ID].erased && l.Name != l.ID.String() {
			v.find(-1, "the chain %s is kept as %.60q, and its last entry is erased", l.ID, l.Name)
		}
	}
	ends, want, err := EndsOf(open)
	if err != nil {
		return err
	}
	if ends.Hash() != head.Ends {
		v.find(-1, "the ends of its chains are not those that its head was kept for")
		return nil
	}
	st, ok := v.st.(Committed)
	if !ok {
		return nil
	}
	kept := map[int64]string{}
	for n, err := range st.EndNodes(ctx) {
		if err != nil {
			return err
		}
		kept[n.N] = string(n.Body)
	}
	for _, n := range want {
		if kept[n.N] != string(n.Body) {
			v.find(-1, "node %d of the ends of its chains is missing or was changed: weir state rebuild writes it anew", n.N)
		}
		delete(kept, n.N)
	}
	for n, body := range kept {
		if body != "" {
			v.find(-1, "node %d of the ends of its chains was added", n)
		}
	}
	return nil
}
