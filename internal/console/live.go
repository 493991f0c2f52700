package console

import (
	"fmt"
	"net/http"
	"time"
)

// liveEvery is how often the log is asked for new events; maxLive bounds how long one browser listens before it comes back.
const (
	liveEvery = time.Second
	maxLive   = 30 * time.Minute
)

// live tells a browser, as server-sent events, when there is something new: the number of the last event, and of questions.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	end := time.NewTimer(maxLive)
	defer end.Stop()
	last := ""
	for {
		head, err := c.news(r)
		if err != nil {
			return
		}
		if head != last {
			last = head
			if _, err := fmt.Fprintf(w, "data: %s\n\n", head); err != nil || control.Flush() != nil {
				return
			}
		}
		select {
		case <-tick.C:
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// news returns the changed parts when there are new events.
func (c *Console) news(r *http.Request) (string, error) {
	head, err := c.opts.Log.Head(r.Context())
	if err != nil {
		return "", err
	}
	open, err := c.opts.Desk.Questions(r.Context())
	return fmt.Sprintf("%d %d", head, len(open)), err
}
