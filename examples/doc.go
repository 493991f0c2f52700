// Package examples has programs of authors of servers and hosts, for them to start from, and the tests that run them:
//
//   - server: a server with contracts, labels, a contract that arguments narrow, an early
//     refusal and a question during a call
//   - agent: a host at a terminal, with decisions, approval requests and messages of the user
//   - web: a host for several users, each with an agent session and approval requests of their own
//   - batch: a host without a user, with a record of its decisions
package examples
