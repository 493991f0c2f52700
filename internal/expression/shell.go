package expression

import "github.com/weir-mcp/weir/internal/cmdline"

// ShellCommand is shell.command: the first word of a command line; "" if the line is more than one simple command of
// literal words: if it has operators, redirections, expansions, patterns, escapes, assignments before the command, or
// comments. It does not check how the command uses its words.
func ShellCommand(line string) string {
	words, ok := cmdline.Words(line)
	if !ok {
		return ""
	}
	return words[0]
}

// ShellNoSecrets is shell.noSecrets: whether a line is a command that only reads, and shows the contents of no file but
// those that it names and of which [PathNoSecrets] is true.
func ShellNoSecrets(line string) bool {
	files, ok := cmdline.Reads(line)
	for _, file := range files {
		ok = ok && PathNoSecrets(file)
	}
	return ok
}
