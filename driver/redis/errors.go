package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"assay/driver/ownership"
	"assay/history"
	"assay/internal/resp"
	"assay/store"
)

// Error classes beyond those of package store.
const (
	classLoading       = "loading"
	classPrimaryDown   = "primary down"
	classFewReplicas   = "not enough replicas"
	classNotReplicated = "not replicated in time"
	classBusy          = "busy with a script"
	classMemory        = "out of memory"
	classDisk          = "cannot write to disk"
	classSlots         = "key in another slot"
	classClusterDown   = "cluster down"
	classMigrating     = "keys are moving"
	classUnauthorized  = "not authorized"
	classType          = "wrong type of value"
	classAborted       = "transaction discarded"
	classTooLarge      = "too large"
)

// Codes are an error's first word (manual, "Redis serialization protocol specification", "Simple
// errors").
const (
	codeNoAuth    = "NOAUTH"
	codeWrongPass = "WRONGPASS"
	codeNoPerm    = "NOPERM"
	codeWrongType = "WRONGTYPE"
	codeAborted   = "EXECABORT"
)

// noClients begins the refusal of a connection (networking.c of 7.0, acceptCommonHandler).
const noClients = "ERR max number of clients reached"

// meaningOf is an error's class and whether it proves that the command was not executed. The errors
// before execution prove it (server.c of 7.0, processCommand). Others prove nothing, among them
// "ERR", the general code, and UNBLOCKED, which ends a WAIT after a write (manual, "CLIENT
// UNBLOCK").
func meaningOf(code string) (class string, refused bool) {
	switch code {
	case "READONLY": // "Redis replication", "Read-only replica"
		return store.ClassNotPrimary, true
	case "MASTERDOWN": // redis.conf, replica-serve-stale-data
		return classPrimaryDown, true
	case "LOADING": // "COMMAND", the flag "loading": others are refused while a server loads its data
		return classLoading, true
	case "NOREPLICAS": // "Redis replication", "Allow writes only with N attached replicas": "the write will not be accepted"
		return classFewReplicas, true
	case "BUSY": // "Scripting with Lua", "Script execution": all but SCRIPT KILL and SHUTDOWN are refused
		return classBusy, true
	case "OOM": // "Key eviction", noeviction: "the server will return an error when you try to execute commands that cache new data"
		return classMemory, true
	case "MISCONF": // redis.conf, stop-writes-on-bgsave-error: "Redis will stop accepting writes"
		return classDisk, true
	case "MOVED", "ASK", "CROSSSLOT": // "Redis cluster specification", "Redirection and resharding"
		return classSlots, true
	case "TRYAGAIN": // "Redis cluster specification", "Multi-key operations"
		return classMigrating, true
	case "CLUSTERDOWN": // "Redis cluster specification", "Fault tolerance"
		return classClusterDown, true
	case codeAborted: // "Transactions", "Errors inside a transaction": "the server will refuse to execute the transaction"
		return classAborted, true
	case codeNoAuth, codeWrongPass, codeNoPerm: // "ACL"
		return classUnauthorized, true
	case codeWrongType: // "Redis data types": a command on a value of another type is refused
		return classType, true
	}
	return store.ClassOther, false
}

func messageOf(err error) string {
	answer, is := errors.AsType[resp.Error](err)
	if !is || answer == errNone {
		return ""
	}
	return string(answer)
}

func codeOf(err error) string {
	code, _, _ := strings.Cut(messageOf(err), " ")
	return code
}

// reasonOf is the code for which a transaction was discarded. It is in EXEC's own error ("EXECABORT
// Transaction discarded because of: CODE ...") or in the error of a queued command.
func reasonOf(executed error, queued []*command) string {
	if _, because, is := strings.Cut(messageOf(executed), "because of: "); is {
		code, _, _ := strings.Cut(because, " ")
		return code
	}
	for _, c := range queued {
		if code := codeOf(c.err); code != "" {
			return code
		}
	}
	return codeAborted
}

func committed() store.Reply { return store.Reply{Outcome: history.Committed} }

func refused(class, doing string, err error) store.Reply {
	return store.Reply{Outcome: history.Failed, Class: class, Err: failed(doing, err)}
}

// answered is the reply to a server's error. A server that became a replica is left.
func answered(doing string, err error) store.Reply {
	class, proof := meaningOf(codeOf(err))
	r := store.Reply{Class: class, Err: failed(doing, err), Broken: elsewhere(class)}
	if proof {
		r.Outcome = history.Failed
	}
	return r
}

// elsewhere reports whether another server is needed: this one became a replica, lost the slot, or
// is cut off from the cluster's majority.
func elsewhere(class string) bool {
	return class == store.ClassNotPrimary || class == classSlots || class == classClusterDown
}

// lost is the reply to an error of the connection: unknown if anything was sent.
func (l *link) lost(doing string, err error) store.Reply {
	r := store.Reply{Class: classOfLoss(err), Err: failed(doing, err), Broken: true}
	if !l.sent {
		r.Outcome = history.Failed
		r.Broken = l.broken
	}
	return r
}

func classOfLoss(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.As(err, &network) && network.Timeout():
		return store.ClassTimeout
	}
	return store.ClassLost
}

func failed(doing string, err error) error { return fmt.Errorf("redis: %s: %w", doing, err) }

// withDoing is failed for errors that do not explain themselves.
func withDoing(doing string, err error) error {
	if err == nil || ownership.Explained(err) {
		return err
	}
	if codeOf(err) == codeNoPerm {
		err = fmt.Errorf("%w; assay asks for all commands on the keys of its prefix, and for ROLE and INFO (ACL SETUSER NAME +@all)", err)
	}
	return failed(doing, err)
}
