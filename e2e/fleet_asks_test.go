package e2e

import (
	"bufio"
	"encoding/json"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// payingAsks is a policy under which a person decides about each payment.
const payingAsks = `
  - {name: paying-asks, when: call, if: tool.name == "pay", effect: ask, message: paying needs a person}
`

// TestFleetApprovals has a person accept a call, in the console and on the command line at one time, that then arrives at all
// weir at one time too, again and again, and in the same session, so that all but the acceptance stays the same. One of the two
// counts, and is used once. Connections to a server are cut meanwhile.
func TestFleetApprovals(t *testing.T) {
	needEnabled(t)
	const sessions, rounds, callers = 4, 4, 4
	for kind, k := range fleets {
		t.Run(kind, func(t *testing.T) {
			f := k.start(t, payingAsks)
			person := f.state.openConsole(t)
			over := make(chan struct{})
			var cuts sync.WaitGroup
			if f.server != nil {
				cuts.Go(func() { f.server.cutOften(over) })
			}
			for i := range sessions {
				o := &operation{tool: "pay", session: name("session", i)}
				o.ID, o.Unseen = name("payment", i), true
				for r := range rounds {
					f.hosts[r%len(f.hosts)].do("first", o.request("first"))
					f.accept(t, person)
					f.together(callers, o)
				}
			}
			close(over)
			cuts.Wait()
			person.end(t)
			f.checkPayments(t, sessions, rounds)
		})
	}
}

// checkPayments compares the payments with the approvals: none is made without one of its own. One whose call finds
// that another weir has changed something in the session meanwhile is used up without a payment.
func (f *fleet) checkPayments(t *testing.T, sessions, rounds int) {
	t.Helper()
	e := f.end(t)
	used, effects := e.checkApprovals(t), 0
	for id, n := range e.effects {
		effects += n
		if n < rounds-1 && f.server == nil {
			t.Errorf("%s happened %d times, in %d rounds", id, n, rounds)
		}
	}
	if effects > used || effects < sessions || f.server == nil && len(e.effects) != sessions {
		t.Errorf("%d effects in %d sessions, %d acceptances used", effects, len(e.effects), used)
	}
	t.Logf("%d acceptances used, %d effects", used, effects)
}

// cutOften cuts the connections of all weir again and again.
func (p *postgres) cutOften(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(rand.N(300 * time.Millisecond)):
			p.cut()
		}
	}
}

// accept has a person accept everything that waits, twice each. Once at most that works.
func (f *fleet) accept(t *testing.T, person *console) {
	t.Helper()
	for range 100 {
		var list struct{ Questions []struct{ ID string } }
		out, err := f.state.command("approvals", "--json").Output()
		if err == nil {
			err = json.Unmarshal(out, &list)
		}
		if err == nil && len(list.Questions) == 0 {
			return
		}
		for _, q := range list.Questions {
			var shell error
			var both sync.WaitGroup
			both.Go(func() {
				script := f.state.command("approve", "--yes", q.ID)
				script.Env = append(slices.Clip(script.Env), "WEIR_SCRIPTED_APPROVAL=1")
				shell = script.Run()
			})
			page := person.allow(q.ID)
			both.Wait()
			if shell == nil && page {
				t.Errorf("the question %s was answered twice", q.ID)
			}
			if f.server == nil && shell != nil && !page {
				t.Errorf("the question %s was not answered: %v", q.ID, shell)
			}
		}
	}
	t.Error("questions stay open")
}

// together has all hosts make the same call at one time, so many times each.
func (f *fleet) together(times int, o *operation) {
	var all sync.WaitGroup
	for _, host := range slices.Repeat(f.hosts, times) {
		id := name("again", rand.Uint64())
		all.Go(func() { host.do(id, o.request(id)) })
	}
	all.Wait()
}

// A console is a `weir console` with a person's browser.
type console struct {
	cmd    *exec.Cmd
	origin string
	http   http.Client
	form   string // the token of its forms
}

var (
	consoleLink = regexp.MustCompile(`; the link that signs you in is in (.+)`)
	formToken   = regexp.MustCompile(`name="form" value="([^"]+)"`)
)

// openConsole starts one on the state and logs in.
func (c *counted) openConsole(t *testing.T) *console {
	t.Helper()
	p := &console{cmd: c.command("console")}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	said := bufio.NewReader(stderr)
	line, _ := said.ReadString('\n')
	file := consoleLink.FindStringSubmatch(line)
	if file == nil {
		t.Fatalf("the console said %q", line)
	}
	link, err := os.ReadFile(file[1])
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(strings.TrimSpace(string(link)))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	p.http.Jar, _ = cookiejar.New(nil) // no error without options
	p.http.Timeout = patience
	p.origin = at.Scheme + "://" + at.Host
	if _, err := p.get(at.String()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *console) get(address string) (string, error) {
	resp, err := p.http.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// allow presses the button that lets the call of a question happen once, and reports whether that counted.
func (p *console) allow(id string) bool {
	page, err := p.get(p.origin + "/approvals")
	if err != nil {
		return false
	}
	if m := formToken.FindStringSubmatch(page); m != nil {
		p.form = html.UnescapeString(m[1])
	}
	form := url.Values{"form": {p.form}, "id": {id}, "choice": {"once"}}.Encode()
	req, err := http.NewRequest(http.MethodPost, p.origin+"/answer", strings.NewReader(form))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", p.origin)
	resp, err := p.http.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK // of the page that a redirect led to
}

// end ends the console as an interrupt does.
func (p *console) end(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the console ended by %v", err)
	}
}
