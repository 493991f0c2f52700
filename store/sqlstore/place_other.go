//go:build !unix

package sqlstore

// writable asks whether the process may write a file. Here a write tells.
func writable(string) error { return nil }
