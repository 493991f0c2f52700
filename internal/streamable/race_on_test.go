//go:build race

package streamable_test

const raceEnabled = true // the detector takes several times the memory
