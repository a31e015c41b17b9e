// Package eventloop runs many callers, each with its own connection, in turns on one thread, and
// waits for all connections by one call. It is for clients that send little and wait for the
// answer. The runtime's poller parks a goroutine and wakes threads for each answer, which costs
// more than the exchange.
//
// A caller's code is ordinary. It is a coroutine (iter.Pull), and yields when its connection has
// nothing to read. It calls Leave before it may block. If it blocks anyway, as on a lock, the
// others wait some hundredths of a second; then the loop goes on without it.
//
// It is for Linux. Elsewhere New fails, and all else does nothing.
package eventloop
