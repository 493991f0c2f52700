// Package storetest is the acceptance test of [store.Store]: an implementation that passes it may serve Weir.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
//			return store.NewMemory(&store.MemoryOptions{Now: now})
//		})
//	}
//
// It holds a back end to every promise in the comment of package store: examples for each operation, random histories
// compared with a naive model, and concurrent use, for which it should run under the race detector.
package storetest

import (
	"testing"
)

// Run tests the stores that open makes, as subtests of t.
func Run(t *testing.T, open New) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"open creates", testOpenCreates},
		{"open again", testOpenAgain},
		{"open binds the principal", testPrincipal},
		{"open checks the reference", testReference},
		{"a child starts with its parent's label", testChild},
		{"a parent may come later", testLateParent},
		{"a parent is bound once", testOneParent},
		{"cycles are refused", testCycle},
		{"depth is limited", testDepth},
		{"depth counts descendants", testDepthBelow},
		{"join", testJoin},
		{"join raises ancestors", testJoinAncestors},
		{"join is bounded", testJoinBounded},
		{"linking is bounded", testLinkBounded},
		{"labels come back whole", testLabels},
		{"count", testCount},
		{"not found", testNotFound},
		{"list", testList},
		{"list while working", testListBody},
		{"time", testTime},
		{"context", testContext},
		{"concurrent joins", testConcurrentJoins},
		{"concurrent opens", testConcurrentOpens},
		{"concurrent links", testConcurrentLinks},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newFixture(t, open)) })
	}
	t.Run("random histories", func(t *testing.T) { testModel(t, open) })
}
