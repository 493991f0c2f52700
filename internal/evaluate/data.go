package evaluate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mark stands in a result where an attacker can write.
const mark = "<<PAYLOAD>>"

// Data is a file of suites.
type Data struct {
	Version string           `json:"benchmark_version"`
	Licence string           `json:"licence"`
	Mark    string           `json:"payload_mark"`
	Suites  map[string]Suite `json:"suites"`
}

// A Suite has servers with tools, the tasks of users, and the goals of attackers.
type Suite struct {
	Tools      []json.RawMessage    `json:"tools"`   // as tools/list has them
	Servers    map[string][]string  `json:"servers"` // names of tools by server
	UserTasks  map[string]Task      `json:"user_tasks"`
	Injections map[string]Injection `json:"injection_tasks"`
}

// A Task is a user's request, and the calls that fulfil it.
type Task struct {
	Prompt string `json:"prompt"`
	Calls  []Call `json:"calls"`
}

// An Injection is the request of an attacker's text, and the calls of an agent that obeys.
type Injection struct {
	Goal  string `json:"goal"`
	Calls []Call `json:"calls"`
}

// A Call is one call with the result that its server gives.
type Call struct {
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"`
	Result   string          `json:"result"`
	Attacked string          `json:"attacked_result"` // with the mark; empty where no attacker can write
	Shows    bool            `json:"shows_payload"`
	Changed  bool            `json:"changed"`
	Error    bool            `json:"error"`
}

// Load reads a file of suites. Their form is that of docs/evaluation.md.
func Load(src []byte) (*Data, error) {
	var d Data
	if err := json.Unmarshal(src, &d); err != nil {
		return nil, fmt.Errorf("reading suites: %w", err)
	}
	if d.Mark == "" {
		d.Mark = mark
	}
	for name, s := range d.Suites {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("suite %s: %w", name, err)
		}
	}
	if len(d.Suites) == 0 {
		return nil, fmt.Errorf("reading suites: there are none")
	}
	return &d, nil
}

// check sees that every call is of a tool that a server has.
func (s *Suite) check() error {
	for name, task := range s.UserTasks {
		for _, c := range task.Calls {
			if s.server(c.Tool) == "" {
				return fmt.Errorf("task %s: no server has the tool %q", name, c.Tool)
			}
		}
	}
	for name, injection := range s.Injections {
		for _, c := range injection.Calls {
			if s.server(c.Tool) == "" {
				return fmt.Errorf("injection %s: no server has the tool %q", name, c.Tool)
			}
		}
	}
	return nil
}

func (s *Suite) server(tool string) string {
	for name, tools := range s.Servers {
		if slices.Contains(tools, tool) {
			return name
		}
	}
	return ""
}

// sorted returns the names of tasks, numbers in them in their order.
func sorted[T any](tasks map[string]T) []string {
	names := make([]string, 0, len(tasks))
	for name := range tasks {
		names = append(names, name)
	}
	number := func(name string) int {
		n, err := strconv.Atoi(name[strings.LastIndexByte(name, '_')+1:])
		if err != nil {
			return 0
		}
		return n
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := number(a) - number(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}
