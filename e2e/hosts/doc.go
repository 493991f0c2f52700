// Package hosts holds the tests that run MCP hosts, in the versions that npm/package-lock.json pins, with Weir between
// them and their servers. No model takes part: an endpoint on the loopback network plays scripts of tool calls.
//
// The tests need Node.js 20 or later, tmux and the packages, so they run only on demand:
//
//	npm install --no-save --ignore-scripts --prefix e2e/hosts/npm
//	go test ./e2e/hosts -e2e
//
// Each host has a home folder of its own, no account, and its telemetry and updates switched off. The run fails when a
// process that it started is still alive at its end.
package hosts
