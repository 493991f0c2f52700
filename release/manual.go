package main

import (
	"bytes"
	"compress/gzip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/weir-mcp/weir/internal/cli"
)

// manual makes a man page of each command that is not hidden, from the table of commands, as share/man/man1/….1.gz.
func manual(modified time.Time, version string) ([]file, error) {
	var pages []file
	var add func(*cobra.Command) error
	add = func(cmd *cobra.Command) error {
		if !cmd.IsAvailableCommand() && cmd.HasParent() {
			return nil
		}
		cmd.DisableAutoGenTag = true
		var page, packed bytes.Buffer
		header := &doc.GenManHeader{Section: "1", Source: "Weir " + version, Manual: "Weir", Date: &modified}
		if err := doc.GenMan(cmd, header, &page); err != nil {
			return err
		}
		compressed := gzip.NewWriter(&packed)
		if _, err := compressed.Write(page.Bytes()); err != nil {
			return err
		}
		if err := compressed.Close(); err != nil {
			return err
		}
		name := "share/man/man1/" + strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1.gz"
		pages = append(pages, file{name, 0o644, packed.Bytes()})
		for _, sub := range cmd.Commands() {
			if err := add(sub); err != nil {
				return err
			}
		}
		return nil
	}
	return pages, add(cli.Commands())
}
