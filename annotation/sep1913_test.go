package annotation_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-mcp/weir/annotation"
	"github.com/weir-mcp/weir/contract"
	"github.com/weir-mcp/weir/label"
)

// The examples of SEP-1913: Action Metadata Examples, Pre-execution Annotation Refinement, Protocol Changes.
func TestSEP1913Examples(t *testing.T) {
	read := func(name string) []byte {
		doc, err := os.ReadFile(filepath.Join("testdata", "sep-1913", name))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	salaries := strs("mcp://file-server.acme.local/hr/salaries.xlsx")
	quiet := contract.Contract{Destinations: to(contract.Ephemeral), Accepts: sensitive(), Outcomes: does(contract.Benign)}
	drafts, inbox := quiet, quiet
	drafts.Sources, drafts.Returns = from(label.UserSource), sensitive(label.PII)
	inbox.Sources, inbox.Returns = from(label.UntrustedPublic), sensitive(label.PII, label.User)
	for _, test := range []struct {
		file string
		read func([]byte) (contract.Contract, []annotation.Defect)
		want contract.Contract
	}{
		{"read_drafts.json", annotation.ReadTool, drafts},
		{"list_inbox.json", annotation.ReadTool, inbox},
		{"send_email.json", annotation.ReadTool, contract.Contract{
			Destinations: to(contract.Public), Accepts: sensitive(label.PII, label.User), Outcomes: does(contract.Irreversible),
			Sources: from(label.System), Returns: sensitive(),
		}},
		{"resolved.json", annotation.ReadResolved, contract.Contract{
			ReadOnly: contract.Yes, OpenWorld: contract.No, Attribution: salaries,
			Sources: from(label.Internal), Returns: sensitive(label.Financial),
		}},
	} {
		got, defects := test.read(read(test.file))
		if diff := cmp.Diff(test.want, got); diff != "" || defects != nil {
			t.Errorf("%s: %s%v", test.file, diff, defects)
		}
	}
	claim, defects := annotation.ReadResult(read("result.json"))
	if !claim.Label.Equal(label.Label{Attribution: salaries}) || defects != nil {
		t.Errorf("result: %+v %v", claim, defects)
	}
	seen, defects := annotation.ReadRequest(read("request.json"))
	if !seen.Equal(label.Label{Attribution: salaries}) || defects != nil {
		t.Errorf("request: %+v %v", seen, defects)
	}
}
