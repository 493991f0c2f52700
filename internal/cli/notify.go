package cli

import (
	"log/slog"
	"runtime"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/notify"
)

// notifier returns who tells people of questions and findings, as the configuration has it: nobody, if it says nothing.
func (e *Env) notifier(c config.Notify, log *slog.Logger) *notify.Notifier {
	opts := notify.Options{Logger: log}
	if w := c.Webhook; w.URL != "" {
		opts.Webhook = &notify.Webhook{URL: w.URL, Secret: w.Key, Answers: w.Answers, Timeout: w.Timeout}
	}
	if c.Desktop {
		desktop := &notify.Desktop{System: runtime.GOOS, Environ: e.Environ}
		if err := desktop.Available(); err != nil {
			log.Warn("no notifications are shown on the desktop", "error", err)
		} else {
			opts.Desktop = desktop
		}
	}
	return notify.New(opts)
}

// asked returns what a gateway does with new questions.
func asked(n *notify.Notifier) func(*approve.Book, *approve.Pending) {
	return func(book *approve.Book, p *approve.Pending) { n.Asked(book, p) }
}
