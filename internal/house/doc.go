// Package house holds the rules that this repository sets itself, as tests. It has no code of its own.
//
// Each rule is a test that reads the tree as it lies on disk, parses every Go file, and reports each breach with
// its position and the reason for the rule. They need neither network nor a build, so that they also say
// something sensible about a tree that does not compile yet.
//
//   - imports_test.go: which package may import which, one row and one reason a package; an unlisted package fails.
//   - size_test.go: lengths of functions and files, numbers of parameters, methods and fields.
//   - code_test.go: names, comments, errors, package-level state, calls that only package main may make.
//   - files_test.go: uses between the files of a package, and the methods of its types.
//   - english_test.go: how often comments, messages and pages use words that hide the subject of a sentence.
//   - text_test.go: words that no file may hold, and links between documents that have to lead somewhere.
//
// A rule that makes a piece of code worse may be broken: by an entry in the exceptions of that rule's file, which
// states why.
package house
