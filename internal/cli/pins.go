package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/internal/home"
)

// confirm asks on standard error and reads the answer from standard input.
func confirm(env *home.Env, question string) bool {
	fmt.Fprintf(env.Stderr, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(env.Stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
