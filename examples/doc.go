// Package examples has programs of authors of servers and hosts, for them to start from, and the tests that run them:
//
//   - server: a server with contracts, labels, a contract that arguments narrow, an early
//     refusal and a question during a call
package examples
