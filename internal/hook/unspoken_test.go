package hook

import (
	"encoding/json"
	"testing"
)

// TestOverlaysSpeakOfArguments holds that no overlay of a host forgot an argument that acts, by which calls
// would count as ones of which nobody states the parts.
func TestOverlaysSpeakOfArguments(t *testing.T) {
	checked := 0
	for _, h := range table {
		set, err := h.Overlay()
		if err != nil {
			t.Fatal(err)
		}
		for tool, arguments := range h.tools {
			for _, name := range arguments {
				call, err := json.Marshal(map[string]string{name: "x"})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range set.Entries() {
					checked++
					if forgotten, ok := set.Named(e.Name).Tool(tool).Unspoken(call); ok {
						t.Errorf("%s: %s: nothing is said of %s", h.ID, tool, forgotten)
					}
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d arguments", checked)
	}
}
