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
		{name: "inputs go nowhere", in: contract.Contract{Destinations: contract.Possible(contract.Ephemeral)}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: no,
			Destinations: contract.Possible(contract.Ephemeral), Outcomes: irreversible, Sources: untrusted}},
		{name: "inputs go nowhere public, or so", in: contract.Contract{Destinations: contract.Possible(contract.Ephemeral, contract.Public)}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes,
			Destinations: contract.Possible(contract.Ephemeral, contract.Public), Outcomes: irreversible, Sources: untrusted}},
		{name: "inputs go nowhere in an open world", in: contract.Contract{OpenWorld: yes, Destinations: internal}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes,
			Destinations: internal, Outcomes: irreversible, Sources: untrusted}},
		{name: "benign", in: contract.Contract{Outcomes: benign}, want: contract.Contract{
			ReadOnly: no, Destructive: no, Idempotent: no, OpenWorld: yes, Destinations: public, Outcomes: benign, Sources: untrusted}},
		{name: "benign or worse", in: contract.Contract{Outcomes: contract.Possible(contract.Benign, contract.Consequential)}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes, Destinations: public,
			Outcomes: contract.Possible(contract.Benign, contract.Consequential), Sources: untrusted}},
		{name: "benign and destructive", in: contract.Contract{Destructive: yes, Outcomes: benign}, want: contract.Contract{
			ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes, Destinations: public, Outcomes: benign, Sources: untrusted}},
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

// The openWorldHint of a result is about its data, and held against the sources (SEP-1913, Why Separate openWorldHint for
// Data vs. Tools?).
func TestBounds(t *testing.T) {
	strangers := contract.Contract{OpenWorld: yes}
	for _, tt := range []struct {
		name             string
		declared, result contract.Contract
		want             []string
	}{
		{"closed world, untrusted source", contract.Contract{OpenWorld: no, Sources: untrusted}, strangers, nil},
		{"closed world, sources not declared", contract.Contract{OpenWorld: no}, strangers, nil},
		{"closed world, unsafe output", contract.Contract{OpenWorld: no, Sources: contract.Possible(label.System), Output: contract.Output{Unsafe: yes}}, strangers, nil},
		{"open world, internal source", contract.Contract{OpenWorld: yes, Sources: contract.Possible(label.Internal)}, strangers, []string{"openWorldHint"}},
		{"closed world, curated source", contract.Contract{OpenWorld: no, Sources: contract.Possible(label.TrustedPublic)}, strangers, []string{"openWorldHint"}},
		{"nothing of others", contract.Contract{OpenWorld: yes, Sources: untrusted}, contract.Contract{OpenWorld: no}, nil},
		{"other members as ever", contract.Contract{OpenWorld: no, Sources: untrusted, Returns: contract.Possible(label.PII)},
			contract.Contract{OpenWorld: yes, Returns: contract.Possible(label.Financial)}, []string{"returnMetadata.sensitivity"}},
	} {
		if got := tt.declared.Bounds(tt.result); !cmp.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestOutside(t *testing.T) {
	mail := contract.Contract{Sources: untrusted, Returns: contract.Possible(label.PII)}
	quiet := contract.Contract{Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class]()}
	for _, tt := range []struct {
		name     string
		declared contract.Contract
		l        label.Label
		want     []string
	}{
		{"nothing declared", contract.Contract{}, label.Label{Untrusted: true, Malicious: true, Private: true, Sensitivity: label.SetOf(label.Credentials)}, nil},
		{"within", mail, label.Label{Untrusted: true, Sensitivity: label.SetOf(label.PII), Attribution: label.SetOf("mcp://a")}, nil},
		{"a class without a source", mail, label.Label{Sensitivity: label.SetOf(label.Credentials)}, []string{"returnMetadata.sensitivity"}},
		{"a class that a hint warns of", contract.Contract{Returns: contract.Possible(label.PII), Output: contract.Output{Secret: yes}},
			label.Label{Sensitivity: label.SetOf(label.Credentials)}, nil},
		{"a source without a class", mail, label.Label{Sources: label.SetOf(label.Internal)}, []string{"returnMetadata.source"}},
		{"private by itself", quiet, label.Label{Private: true}, []string{"privateHint"}},
		{"readers", quiet, label.Label{Readers: label.OnlyReaders("ann")}, []string{"privateHint"}},
		{"private, as declared", contract.Contract{Sources: contract.Possible(label.System), Returns: contract.Possible[label.Class](), Output: contract.Output{Private: yes}},
			label.Label{Private: true}, nil},
		{"private, where it says not", contract.Contract{Output: contract.Output{Private: no}}, label.Label{Private: true}, []string{"privateHint"}},
		{"malicious, where it says never", contract.Contract{Malicious: no}, label.Label{Malicious: true}, []string{"maliciousActivityHint"}},
		{"of strangers", quiet, label.Label{Untrusted: true}, []string{"openWorldHint"}},
	} {
		if got := tt.declared.Outside(tt.l); !cmp.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestTold(t *testing.T) {
	drafts := contract.Contract{
		Destinations: contract.Possible(contract.Ephemeral), Accepts: contract.Possible[label.Class](), Outcomes: benign,
		Sources: contract.Possible(label.UserSource), Returns: contract.Possible(label.PII),
	}
	told := drafts
	told.Destructive, told.OpenWorld = no, no
	for _, tt := range []struct {
		name              string
		overlay, declared contract.Contract
		trust             contract.Trust
		want              contract.Contract
	}{
		{"nothing known", contract.Contract{}, contract.Contract{}, contract.Trusted, contract.Contract{}},
		{"read_drafts of SEP-1913", contract.Contract{}, drafts, contract.Trusted, told},
		{"promises that do not count", contract.Contract{}, contract.Contract{ReadOnly: yes, OpenWorld: no, Trusted: yes}, contract.Untrusted,
			contract.Contract{ReadOnly: no, OpenWorld: yes, Trusted: no, Outcomes: contract.Possible(contract.Benign, contract.Irreversible),
				Destinations: contract.Possible(contract.Internal, contract.Public)}},
		{"an open world in spite of the destination", contract.Contract{OpenWorld: yes}, contract.Contract{Destinations: internal}, contract.Trusted,
			contract.Contract{OpenWorld: yes, Destinations: internal}},
	} {
		got := contract.Overlaid(tt.overlay, tt.declared, tt.trust).Told(tt.declared)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
