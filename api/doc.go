// Package api lists the exported declarations of the public packages, one file a package, and its test holds the code
// against them: a change of an API shows in the difference of a commit. See CONTRIBUTING.md for the rules before 1.0.
package api
