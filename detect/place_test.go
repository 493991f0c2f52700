package detect_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/detect"
)

// TestPathsHoldNoValue puts values into names of members: where they are found, where there are more than a scan
// returns, and where only a copy of a value is.
func TestPathsHoldNoValue(t *testing.T) {
	const key, mail = "sk_live_9fD48IrMaYw7QeXb2ZtLk0Pv", `"write to anna.miller@acme-corp.com"`
	many := make([]string, 70)
	for i := range many {
		many[i] = fmt.Sprintf(`"sk_live_%.24x"`, sha256.Sum256([]byte{byte(i)}))
	}
	for name, text := range map[string]string{
		"a name":                `{"` + key + `":{"email":` + mail + `}}`,
		"more than are listed":  `{"all":[` + strings.Join(many, ",") + `],"` + key + `":{"email":` + mail + `}}`,
		"a copy of a password":  `{"dsn":"postgres://app:KnOwn9Pw7xQ@db.acme-corp.com/app","by":{"KnOwn9Pw7xQ":{"email":` + mail + `}}}`,
		"a part of a long name": `{"dsn":"postgres://app:KnOwn9Pw7xQ@db.acme-corp.com/app","by":{"is KnOwn9Pw7xQ now":{"email":` + mail + `}}}`,
	} {
		found := false
		for _, f := range detect.New().Scan([]byte(text), detect.JSON, nil).Findings {
			if strings.Contains(f.Path, "sk_live_9") || strings.Contains(f.Path, "KnOwn") {
				t.Errorf("%s: %s is at %s", name, f.Kind, f.Path)
			}
			found = found || f.Class == detect.Personal
		}
		if !found {
			t.Errorf("%s: no mail address is found", name)
		}
	}
}
