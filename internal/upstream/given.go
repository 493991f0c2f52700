package upstream

// A givenUp is the set of the last calls that were given up.
type givenUp struct {
	ids   map[int64]struct{}
	order []int64
}

func (g *givenUp) add(id int64) {
	if g.ids == nil {
		g.ids = make(map[int64]struct{})
	}
	if len(g.order) == rememberCalls {
		delete(g.ids, g.order[0])
		g.order = g.order[1:]
	}
	g.ids[id] = struct{}{}
	g.order = append(g.order, id)
}

// take removes the id and reports whether it was there.
func (g *givenUp) take(id int64) bool {
	_, ok := g.ids[id]
	delete(g.ids, id)
	return ok
}
