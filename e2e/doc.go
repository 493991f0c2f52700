// Package e2e holds the tests that run the weir program between servers and clients that nobody here wrote:
// the reference servers of the Model Context Protocol, both generations of its TypeScript SDK and the command
// line of its inspector, in the versions that node/package-lock.json pins.
//
// Each comparison drives a server twice, directly and through Weir, and walks both answers member by member.
// Weir may add labels and contracts; everything else has to arrive as the server sent it. Other tests make the
// policy ask or block, answer as a person would, and check the files on disk. One compares the tools of servers that
// start without a network with the catalogue's entries.
//
// The tests need Node.js 20 or later and the packages, so they run only on demand:
//
//	npm ci --prefix e2e/node
//	go test ./e2e -e2e
//
// TestCrashes kills the program at random moments and compares its effects, its log and its sessions afterwards.
// TestDiskErrors does the same while system calls on its state fail, which strace makes them do; TestDiskFull needs to
// mount a file system. Where that is not permitted they are skipped, and say that nothing was tested. The tests of
// fleets have two and five of it on one store, on PostgreSQL too if it is told where its programs are:
//
//	go test ./e2e -e2e -run TestCrashes -timeout 2h -e2e.kills 1000 -e2e.within 1h
//	go test ./e2e -e2e -run TestDiskErrors -timeout 2h -e2e.faults -1 -e2e.within 1h
//	go test ./e2e -e2e -run TestFleet -e2e.postgres /usr/lib/postgresql/15/bin
//
// TestTlogTiles builds a program of others from the Go module proxy.
//
// The tests of soak_test.go put it under load and among servers and hosts that die, flood and do not listen; these are
// made for the purpose and need no Node.js.
//
// With -race the weir program is built with the race detector too. Nothing here leaves the loopback network, and
// the run fails when a process that it started is still alive at its end.
package e2e
