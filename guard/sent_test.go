package guard_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/detect"
	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/rawjson"
	"github.com/weir-mcp/weir/policy"
)

// Findings in arguments are redacted before a call goes to one of the destinations that the operator names, and only
// then: policy does not see them. If that cannot be done, nothing goes.
func TestArgumentsAreRedactedByDestination(t *testing.T) {
	const key, placeholder = foundKey, "[redacted:aws-access-key-id]"
	inside := keepNote
	unknown := contract.Contract{}
	secrets := guard.Detection{Detector: detect.New(), Sent: map[string][]contract.Destination{"credentials": {contract.Public}}}
	warn := func(o *guard.Options) { o.Mode = policy.WarnOnly }
	for _, c := range []struct {
		name, body string
		declared   contract.Contract
		detection  guard.Detection
		change     func(*guard.Options)
		want       string // "" if the call does not go
	}{
		{"to the public", "key " + key + ".", sendMail, secrets, nil, "key " + placeholder + "."},
		{"within", "key " + key, inside, secrets, nil, "key " + key},
		{"to nobody knows where", "key " + key, unknown, secrets, warn, "key " + key},
		{"nothing", "a line", sendMail, secrets, nil, "a line"},
		{"encoded", base64.StdEncoding.EncodeToString([]byte("key " + key)), sendMail, secrets, nil, ""},
		{"another class", "key " + key, sendMail, guard.Detection{
			Detector: detect.New(), Sent: map[string][]contract.Destination{"financial": {contract.Public}}}, nil, ""},
		{"a broken detector", "a line", sendMail, guard.Detection{Detector: broken{}, Sent: secrets.Sent}, nil, ""},
		{"a broken detector within", "a line", inside, guard.Detection{Detector: broken{}, Sent: secrets.Sent}, nil, "a line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, func(o *guard.Options) {
				o.Contents.Detection = c.detection
				if c.change != nil {
					c.change(o)
				}
			})
			params := `{"name":"send_email","arguments":{"to":"a@example.com","body":"` + c.body + `"}}`
			v := f.g.Before(t.Context(), call("send_email", c.declared, params))
			if c.name == "encoded" { // the whole of the encoded form goes
				body, _ := rawjson.Get(v.Params, "arguments", "body")
				if !v.Allowed() || strings.Contains(string(body), c.body[8:]) || !strings.Contains(string(body), placeholder) {
					t.Errorf("got %v with %s", v, v.Params)
				}
				return
			}
			if v.Allowed() != (c.want != "") {
				t.Fatalf("got %v, want %q", v, c.want)
			}
			if !v.Allowed() {
				return
			}
			body, _ := rawjson.Get(v.Params, "arguments", "body")
			to, _ := rawjson.Get(v.Params, "arguments", "to")
			if got, _ := rawjson.String(body); got != c.want || string(to) != `"a@example.com"` {
				t.Errorf("sent %s, want body %s", v.Params, c.want)
			}
		})
	}
}

// Policy sees the findings that go out: those beside the arguments are not redacted.
func TestFindingsBesideArgumentsCount(t *testing.T) {
	for params, allowed := range map[string]bool{
		`{"name":"send_email","arguments":{"to":"a@example.com","body":"` + foundKey + `"}}`:            true,
		`{"name":"send_email","arguments":{"to":"a@example.com","body":"x"},"more":"` + foundKey + `"}`: false,
	} {
		f := newFixture(t, func(o *guard.Options) {
			o.Contents.Detection = guard.Detection{Detector: detect.New(), Sent: map[string][]contract.Destination{"credentials": {contract.Public}}}
		})
		if v := f.g.Before(t.Context(), call("send_email", sendMail, params)); v.Allowed() != allowed {
			t.Errorf("%s: got %v", params, v)
		}
	}
}

// A server that would resolve the contract of a call is not shown arguments that are redacted for it.
func TestNoResolutionOfRedactedArguments(t *testing.T) {
	for _, destinations := range [][]contract.Destination{nil, {contract.Public}} {
		f := newFixture(t, func(o *guard.Options) {
			o.Contents.Detection = guard.Detection{Detector: detect.New()}
			if destinations != nil {
				o.Contents.Detection.Sent = map[string][]contract.Destination{"credentials": destinations}
			}
		})
		may, err := f.g.Show(t.Context(), call("send_email", sendMail, `{"name":"send_email","arguments":{"to":"a@example.com","body":"x"}}`))
		if err != nil || may != (destinations == nil) {
			t.Errorf("with %v: %t, %v", destinations, may, err)
		}
	}
}
