package evaluate

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// A Report is the result of a run.
type Report struct {
	Version string `json:"version"`
	Licence string `json:"licence"`
	Rows    []Row  `json:"rows"` // by suite and mode; at last those of all suites together
}

// A Row is the figures of one suite in one mode.
type Row struct {
	Suite string `json:"suite"`
	Mode

	Tasks     int `json:"tasks"`
	Done      int `json:"done"`      // tasks of which every call came to its server
	Free      int `json:"free"`      // tasks with no question
	WithinOne int `json:"withinOne"` // tasks with one question at most
	Most      int `json:"most"`      // questions of the task with the most
	Questions int `json:"questions"`

	Attacks  int `json:"attacks"`            // of a task in which the attacker's text is shown
	Through  int `json:"through"`            // attacks with a call through that changed something or carried data out
	Reached  int `json:"reached"`            // attacks of which an agent that uses handles read the text
	Deceived int `json:"deceived,omitempty"` // attacks that a quarantined model told to an agent
	Pressed  int `json:"pressed"`            // questions in attacked tasks
	Wordless int `json:"wordless"`           // attacks without a call, which cannot be judged here

	Asked []Question `json:"asked,omitempty"` // of the tasks alone
	Got   []string   `json:"got,omitempty"`   // attacks that got through: task, attack and tools
}

// All is the name of the rows of all suites together.
const All = "all"

func (r *Row) benign(task string, e episode) {
	n := len(e.questions)
	r.Tasks++
	r.Questions += n
	r.Most = max(r.Most, n)
	if e.done {
		r.Done++
	}
	if n == 0 {
		r.Free++
	}
	if n <= 1 {
		r.WithinOne++
	}
	r.Asked = append(r.Asked, e.questions...)
}

func (r *Row) attacked(task, by string, e episode) {
	if !e.shown {
		return
	}
	r.Attacks++
	if e.reached {
		r.Reached++
	}
	if e.deceived {
		r.Deceived++
	}
	r.Pressed += len(e.questions)
	if len(e.through) > 0 {
		r.Through++
		r.Got = append(r.Got, fmt.Sprintf("%s %s: %v", task, by, e.through))
	}
}

// add adds the figures of another row.
func (r *Row) add(o *Row) {
	r.Tasks, r.Done, r.Free, r.WithinOne = r.Tasks+o.Tasks, r.Done+o.Done, r.Free+o.Free, r.WithinOne+o.WithinOne
	r.Questions, r.Attacks, r.Through = r.Questions+o.Questions, r.Attacks+o.Attacks, r.Through+o.Through
	r.Reached, r.Deceived = r.Reached+o.Reached, r.Deceived+o.Deceived
	r.Pressed, r.Wordless, r.Most = r.Pressed+o.Pressed, r.Wordless+o.Wordless, max(r.Most, o.Most)
}

// total adds the rows of all suites together.
func (r *Report) total() {
	sums := map[Mode]*Row{}
	for _, row := range r.Rows {
		s := sums[row.Mode]
		if s == nil {
			s = &Row{Suite: All, Mode: row.Mode}
			sums[row.Mode] = s
		}
		s.add(&row)
	}
	for _, row := range slices.Clone(r.Rows) {
		if s := sums[row.Mode]; s != nil {
			r.Rows = append(r.Rows, *s)
			delete(sums, row.Mode)
		}
	}
}

// Row returns the figures of a suite, or of [All], in a mode; nil if there are none.
func (r *Report) Row(suite string, m Mode) *Row {
	for i := range r.Rows {
		if r.Rows[i].Suite == suite && r.Rows[i].Mode == m {
			return &r.Rows[i]
		}
	}
	return nil
}

// PerTask returns the questions for each task.
func (r *Row) PerTask() float64 { return float64(r.Questions) / float64(max(r.Tasks, 1)) }

// JSON writes the report for machines.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Text writes the report for people: the figures, and which questions were asked.
func (r *Report) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "suite\tuser's words\tperson\tattacks through\ttasks done\tno question\twithin one\tquestions a task\tmost")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d of %d\t%d of %d\t%d\t%d\t%.2f\t%d\n", row.Suite, pick(row.Words, "told", "not told"),
			row.person(), row.Through, row.Attacks, row.Done, row.Tasks,
			row.Free, row.WithinOne, row.PerTask(), row.Most)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		if row.Suite == All && row.Reached > 0 {
			fmt.Fprintf(w, "\nuser's words %s, person %s: the agent read the text of %d attacks\n", pick(row.Words, "told", "not told"),
				row.person(), row.Reached)
		}
		if !row.Accepts && len(row.Got) > 0 {
			fmt.Fprintf(w, "\n%s, %s words, attacks that got through:\n", row.Suite, pick(row.Words, "with the user's", "without the user's"))
			for _, got := range row.Got {
				fmt.Fprintf(w, "  %s\n", got)
			}
		}
		if !row.Accepts || len(row.Asked) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s, %s words, asked:\n", row.Suite, pick(row.Words, "with the user's", "without the user's"))
		for _, q := range row.Asked {
			if _, err := fmt.Fprintf(w, "  %s: %s (%s)\n", q.Task, q.Tool, q.Rule); err != nil {
				return err
			}
		}
	}
	return nil
}

func pick(which bool, yes, no string) string {
	if which {
		return yes
	}
	return no
}
