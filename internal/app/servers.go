package app

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/weir-mcp/weir/audit"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/hook"
	"github.com/weir-mcp/weir/internal/status"
	"github.com/weir-mcp/weir/record"
	"github.com/weir-mcp/weir/store/sqlstore"
)

// A KnownServer is a server that processes of Weir serve, or that the log tells of. Servers of one name that differ in
// their trust or transport are several.
type KnownServer struct {
	Name      string    `json:"name"`
	Transport string    `json:"transport,omitempty"` // as [status.Server] has it; "" if no process serves it now
	Trust     string    `json:"trust,omitempty"`     // that counts; "" as well
	Lowered   bool      `json:"lowered,omitempty"`   // the configuration trusts it more
	Disabled  bool      `json:"disabled,omitempty"`  // the configuration leaves it out
	Processes []int     `json:"processes,omitempty"` // that serve it; none if it is disabled
	Last      time.Time `json:"last,omitzero"`       // when the last call by its name was decided, of those that were looked at
}

// KnownServers returns the servers of processes, and those of the last calls in the log.
func KnownServers(ctx context.Context, db *sqlstore.DB, running []status.Process) ([]KnownServer, error) {
	last, err := lastCalls(ctx, db)
	if err != nil {
		return nil, err
	}
	all := servedBy(running)
	for i := range all {
		all[i].Last = last[all[i].Name]
	}
	for name, at := range last {
		if !slices.ContainsFunc(all, func(k KnownServer) bool { return k.Name == name }) {
			all = append(all, KnownServer{Name: name, Last: at})
		}
	}
	slices.SortFunc(all, func(a, b KnownServer) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Transport, b.Transport), cmp.Compare(a.Trust, b.Trust))
	})
	return all, nil
}

// servedBy returns the servers of processes.
func servedBy(running []status.Process) (all []KnownServer) {
	for _, p := range running {
		for _, s := range p.Servers {
			k := KnownServer{Name: s.Name, Transport: s.Transport, Trust: s.Trust, Lowered: s.Lowered, Disabled: s.Disabled}
			i := slices.IndexFunc(all, func(o KnownServer) bool {
				return o.Name == k.Name && o.Transport == k.Transport && o.Trust == k.Trust && o.Lowered == k.Lowered && o.Disabled == k.Disabled
			})
			if i < 0 {
				i, all = len(all), append(all, k)
			}
			if !s.Disabled {
				all[i].Processes = append(all[i].Processes, p.PID)
			}
		}
	}
	return all
}

// lastCalls returns when the last call to each server was decided, by the name of the server, as far as the last
// entries of the log tell.
func lastCalls(ctx context.Context, db *sqlstore.DB) (map[string]time.Time, error) {
	last := map[string]time.Time{}
	for row, err := range db.Log().Rows(ctx, audit.Query{Kind: string(record.Decision), Newest: true, Limit: MaxSearched}) {
		if err != nil {
			return nil, err
		}
		var e struct{ Server string }
		if row.Erased() || json.Unmarshal(row.Body, &e) != nil || e.Server == "" || e.Server == guard.Own || e.Server == hook.Server {
			continue
		}
		if _, seen := last[e.Server]; !seen {
			last[e.Server] = row.Time
		}
	}
	return last, nil
}
