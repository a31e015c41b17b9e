// Package eventloop has many callers, each with a connection of its own, take turns on one
// thread, and waits for all their connections by one call: for clients that send something
// small and wait for the answer. The runtime's poller parks a goroutine for each wait,
// and wakes threads for each answer, which takes more than the exchange itself.
//
// A caller's code stays as it is. It is a coroutine (iter.Pull), and gives way where its
// connection has nothing to read. What else may block is done after Leave. What blocks
// all the same, such as a lock, keeps the others waiting for some hundredths of a second: the
// loop then goes on without that caller.
//
// It is for Linux. Elsewhere New fails, and all else does nothing.
package eventloop
