package contract_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

const (
	no  = contract.No
	yes = contract.Yes
)

var (
	benign        = contract.Possible(contract.Benign)
	consequential = contract.Possible(contract.Consequential)
	irreversible  = contract.Possible(contract.Irreversible)
	public        = contract.Possible(contract.Public)
	internal      = contract.Possible(contract.Internal)
	untrusted     = contract.Possible(label.UntrustedPublic)
)

func TestAssumeFills(t *testing.T) {
	tests := []struct {
		name     string
		in, want contract.Contract
	}{
		{name: "nothing", want: contract.Pessimistic()},
		{name: "read-only", in: contract.Contract{ReadOnly: yes}, want: contract.Contract{
			ReadOnly: yes, Destructive: no, Idempotent: no, OpenWorld: yes,
			Destinations: public, Outcomes: benign, Sources: untrusted}},
		{name: "read-only but declared irreversible", in: contract.Contract{ReadOnly: yes, Outcomes: irreversible}, want: contract.Contract{
			ReadOnly: yes, Destructive: no, Idempotent: no, OpenWorld: yes,
			Destinations: public, Outcomes: irreversible, Sources: untrusted}},
		{name: "not destructive", in: contract.Contract{Destructive: no}, want: contract.Contract{
			ReadOnly: no, Destructive: no, Idempotent: no, OpenWorld: yes,
			Destinations: public, Outcomes: consequential, Sources: untrusted}},
		{name: "closed world", in: contract.Contract{OpenWorld: no}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: no,
			Destinations: internal, Outcomes: irreversible}},
		{name: "closed world but declared public", in: contract.Contract{OpenWorld: no, Destinations: public}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: no,
			Destinations: public, Outcomes: irreversible}},
		{name: "the empty set is declared", in: contract.Contract{Destinations: contract.Possible[contract.Destination]()}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes,
			Destinations: contract.Possible[contract.Destination](), Outcomes: irreversible, Sources: untrusted}},
		{name: "not destructive, but for good", in: contract.Contract{Destructive: no, Operation: contract.Operation{Reversible: no}}, want: contract.Contract{
			ReadOnly: no, Destructive: no, Idempotent: no, OpenWorld: yes, Operation: contract.Operation{Reversible: no},
			Destinations: public, Outcomes: irreversible, Sources: untrusted}},
		{name: "can be undone", in: contract.Contract{Operation: contract.Operation{Reversible: yes}}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes, Operation: contract.Operation{Reversible: yes},
			Destinations: public, Outcomes: consequential, Sources: untrusted}},
		{name: "benign, but for good", in: contract.Contract{Outcomes: benign, Operation: contract.Operation{Reversible: no}}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes, Operation: contract.Operation{Reversible: no},
			Destinations: public, Outcomes: contract.Possible(contract.Benign, contract.Irreversible), Sources: untrusted}},
		{name: "reading cannot be undone, nor need it", in: contract.Contract{ReadOnly: yes, Operation: contract.Operation{Reversible: no}}, want: contract.Contract{
			ReadOnly: yes, Destructive: no, Idempotent: no, OpenWorld: yes, Operation: contract.Operation{Reversible: no},
			Destinations: public, Outcomes: benign, Sources: untrusted}},
		{name: "unsafe output beside its sources", in: contract.Contract{Sources: contract.Possible(label.System), Output: contract.Output{Unsafe: yes}}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes, Output: contract.Output{Unsafe: yes},
			Destinations: public, Outcomes: irreversible, Sources: contract.Possible(label.System, label.UntrustedPublic)}},
		{name: "secrets beside what it returns", in: contract.Contract{Returns: contract.Possible(label.User), Output: contract.Output{Secret: yes, Sensitive: yes}}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes, Output: contract.Output{Secret: yes, Sensitive: yes},
			Destinations: public, Outcomes: irreversible, Sources: untrusted,
			Returns: contract.Possible(label.User, label.Credentials, label.Unspecified)}},
		{name: "secrets, and nothing said of the rest", in: contract.Contract{Output: contract.Output{Secret: yes}}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes, Output: contract.Output{Secret: yes},
			Destinations: public, Outcomes: irreversible, Sources: untrusted}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.in.Assume()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A server that claims to be harmless, as each level of trust takes it.
func TestEffective(t *testing.T) {
	harmless := contract.Contract{
		ReadOnly: yes, Destructive: no, Idempotent: yes, OpenWorld: no, Malicious: no,
		Destinations: contract.Possible(contract.Ephemeral),
		Accepts:      contract.Possible(label.PII),
		Outcomes:     benign,
		Sources:      contract.Possible(label.TrustedPublic),
		Returns:      contract.Possible[label.Class](),
		Attribution:  label.SetOf("mcp://a"),
	}
	known := harmless
	known.Sources = contract.Possible(label.TrustedPublic, label.UntrustedPublic)
	raised := contract.Contract{
		ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes, Malicious: no,
		Destinations: contract.Possible(contract.Ephemeral, contract.Public),
		Accepts:      harmless.Accepts,
		Outcomes:     contract.Possible(contract.Benign, contract.Irreversible),
		Sources:      known.Sources,
		Returns:      harmless.Returns,
		Attribution:  harmless.Attribution,
	}
	closed := contract.Contract{OpenWorld: no}.Assume()
	closedKnown := closed
	closedKnown.Sources = untrusted
	closedUntrusted := contract.Pessimistic()
	closedUntrusted.Destinations = contract.Possible(contract.Internal, contract.Public)
	vouched := contract.Contract{Trusted: yes, RequiresReview: yes, Operation: contract.Operation{Reversible: yes, Privileged: yes}}
	tests := []struct {
		name     string
		declared contract.Contract
		trust    contract.Trust
		want     contract.Contract
	}{
		{"harmless, trusted", harmless, contract.Trusted, harmless},
		{"harmless, known", harmless, contract.Known, known},
		{"harmless, untrusted", harmless, contract.Untrusted, raised},
		{"vouched for, trusted", vouched, contract.Trusted, vouched.Assume()},
		{"vouched for, known", vouched, contract.Known, contract.Effective(contract.Contract{RequiresReview: yes, Operation: vouched.Operation}, contract.Known)},
		{"vouched for, untrusted", vouched, contract.Untrusted, func() contract.Contract {
			worst := contract.Pessimistic()
			worst.Outcomes, worst.RequiresReview, worst.Operation.Privileged = contract.Possible(contract.Consequential, contract.Irreversible), yes, yes
			return worst
		}()},
		{"silent, trusted", contract.Contract{}, contract.Trusted, contract.Pessimistic()},
		{"silent, known", contract.Contract{}, contract.Known, contract.Pessimistic()},
		{"silent, untrusted", contract.Contract{}, contract.Untrusted, contract.Pessimistic()},
		{"closed world, trusted", contract.Contract{OpenWorld: no}, contract.Trusted, closed},
		{"closed world, known", contract.Contract{OpenWorld: no}, contract.Known, closedKnown},
		{"closed world, untrusted", contract.Contract{OpenWorld: no}, contract.Untrusted, closedUntrusted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, contract.Effective(tt.declared, tt.trust)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNarrows(t *testing.T) {
	both := contract.Possible(contract.Internal, contract.Public)
	tests := []struct {
		name        string
		c, resolved contract.Contract
		violations  []string
	}{
		{"both silent", contract.Contract{}, contract.Contract{}, nil},
		{"read-only stays", contract.Contract{ReadOnly: yes}, contract.Contract{ReadOnly: no}, []string{"readOnlyHint"}},
		{"read-only not repeated", contract.Contract{ReadOnly: yes}, contract.Contract{}, nil},
		{"may become read-only", contract.Contract{ReadOnly: no}, contract.Contract{ReadOnly: yes}, nil},
		{"not destructive stays", contract.Contract{Destructive: no}, contract.Contract{Destructive: yes}, []string{"destructiveHint"}},
		{"destructive may calm down", contract.Contract{Destructive: yes}, contract.Contract{Destructive: no}, nil},
		{"idempotent stays", contract.Contract{Idempotent: yes}, contract.Contract{Idempotent: no}, []string{"idempotentHint"}},
		{"closed stays", contract.Contract{OpenWorld: no}, contract.Contract{OpenWorld: yes}, []string{"openWorldHint"}},
		{"benign stays", contract.Contract{Malicious: no}, contract.Contract{Malicious: yes}, []string{"maliciousActivityHint"}},
		{"review stays", contract.Contract{RequiresReview: no}, contract.Contract{RequiresReview: yes}, []string{"requiresReview"}},
		{"trusted stays", contract.Contract{Trusted: yes}, contract.Contract{Trusted: no}, []string{"trustedHint"}},
		{"data", contract.Contract{Output: contract.Output{Unsafe: no, Secret: no, Private: no, Sensitive: no}},
			contract.Contract{Output: contract.Output{Unsafe: yes, Secret: yes, Private: yes, Sensitive: yes}},
			[]string{"secretHint", "privateHint", "sensitiveDataHint"}},
		{"operation", contract.Contract{Operation: contract.Operation{AIProcessing: no, Slow: no, Costly: no, Privileged: no, Reversible: yes}},
			contract.Contract{Operation: contract.Operation{AIProcessing: yes, Slow: yes, Costly: yes, Privileged: yes, Reversible: no}},
			[]string{"aiProcessingHint", "slowExecutionHint", "resourceIntensiveHint", "privilegedAccessHint", "reversibleHint"}},
		{"subset", contract.Contract{Destinations: both}, contract.Contract{Destinations: public}, nil},
		{"superset", contract.Contract{Destinations: public}, contract.Contract{Destinations: both}, []string{"inputMetadata.destination"}},
		{"set not repeated", contract.Contract{Destinations: public}, contract.Contract{}, nil},
		{"set not declared", contract.Contract{}, contract.Contract{Destinations: public}, nil},
		{"the empty set narrows", contract.Contract{Destinations: public}, contract.Contract{Destinations: contract.Possible[contract.Destination]()}, nil},
		{"nothing is in the empty set", contract.Contract{Returns: contract.Possible[label.Class]()}, contract.Contract{Returns: contract.Possible(label.PII)},
			[]string{"returnMetadata.sensitivity"}},
		{"every set", contract.Contract{
			Accepts: contract.Possible(label.User), Outcomes: benign, Sources: untrusted,
		}, contract.Contract{
			Accepts: contract.Possible(label.PII), Outcomes: irreversible, Sources: contract.Possible(label.Internal),
		}, []string{"inputMetadata.sensitivity", "inputMetadata.outcomes", "returnMetadata.source"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.violations, tt.c.Narrows(tt.resolved)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrustText(t *testing.T) {
	for _, trust := range []contract.Trust{contract.Untrusted, contract.Known, contract.Trusted} {
		if got, err := contract.ParseTrust(trust.String()); got != trust || err != nil {
			t.Errorf("%v reads as %v, %v", trust, got, err)
		}
	}
	for _, text := range []string{"", "Trusted", "full"} {
		if got, err := contract.ParseTrust(text); got != contract.Untrusted || err == nil {
			t.Errorf("%q reads as %v, %v", text, got, err)
		}
	}
}

func TestHintText(t *testing.T) {
	for h, want := range map[contract.Hint]string{contract.Unknown: "unknown", no: "no", yes: "yes", contract.HintOf(true): "yes", contract.HintOf(false): "no"} {
		if h.String() != want {
			t.Errorf("%d prints as %q, want %q", h, h, want)
		}
	}
}
