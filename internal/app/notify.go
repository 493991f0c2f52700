package app

import (
	"log/slog"
	"runtime"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway/approve"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/notify"
)

// newNotifier returns who tells people of questions and findings, as the configuration has it: nobody, if it says nothing.
func newNotifier(env *home.Env, c config.Notify, log *slog.Logger) *notify.Notifier {
	opts := notify.Options{Logger: log}
	if w := c.Webhook; w.URL != "" {
		opts.Webhook = &notify.Webhook{URL: w.URL, Secret: w.Key, Answers: w.Answers, Timeout: w.Timeout}
	}
	if c.Desktop {
		desktop := &notify.Desktop{System: runtime.GOOS, Environ: env.Environ}
		if err := desktop.Available(); err != nil {
			log.Warn("no notifications are shown on the desktop", "error", err)
		} else {
			opts.Desktop = desktop
		}
	}
	return notify.New(opts)
}

// asked returns the gateway's callback for new approval requests.
func asked(n *notify.Notifier) func(*approve.Book, *approve.Pending) {
	return func(book *approve.Book, p *approve.Pending) { n.Asked(book, p) }
}
