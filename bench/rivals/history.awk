# A history of n operations of ten processes as EDN, that is right: of registers of
# independent keys, a set, a queue or logs. What is invoked at the same time is done in the
# order of the processes.
#	awk -v kind=register -v n=1000000 -f history.awk > register.edn
function event(type, p, f, value) {
	printf "{:index %d, :time %d, :type :%s, :process %d, :f :%s, :value %s}\n", at, at * 1000, type, p, f, value
	at++
}
function pick(below) { return int(rand() * below) }

function ask_register(p,    what) { # each key has a thousand operations, on five values
	of[p] = int(done / 8000) * 8 + pick(8)
	what = pick(3)
	f[p] = what == 0 ? "read" : what == 1 ? "write" : "cas"
	from[p] = pick(5)
	new[p] = pick(5)
	event("invoke", p, f[p], "[" of[p] " " (what == 0 ? "nil" : what == 1 ? new[p] : "[" from[p] " " new[p] "]") "]")
}
function tell_register(p,    now) {
	now = of[p] in held ? held[of[p]] : "nil"
	if (f[p] == "read") event("ok", p, f[p], "[" of[p] " " now "]")
	else if (f[p] == "write") event("ok", p, f[p], "[" of[p] " " new[p] "]")
	else event(now == from[p] "" ? "ok" : "fail", p, f[p], "[" of[p] " [" from[p] " " new[p] "]]")
	if (f[p] == "write" || f[p] == "cas" && now == from[p] "") held[of[p]] = new[p] ""
}

function ask_set(p) { event("invoke", p, "add", new[p] = last++) }
function tell_set(p) { event("ok", p, "add", new[p]) }

function ask_queue(p) {
	if (f[p] = pick(2)) event("invoke", p, "dequeue", "nil")
	else event("invoke", p, "enqueue", new[p] = last++)
}
function tell_queue(p) {
	if (!f[p]) { queue[tail++] = new[p]; event("ok", p, "enqueue", new[p]) }
	else if (head < tail) event("ok", p, "dequeue", queue[head++])
	else event("fail", p, "dequeue", "nil")
}

function ask_kafka(p) {
	if (f[p] = pick(2)) { event("invoke", p, "poll", "[[:poll]]"); return }
	of[p] = pick(8)
	new[p] = last++
	event("invoke", p, "send", "[[:send " of[p] " " new[p] "]]")
}
function tell_kafka(p,    k, i, end, some, all) {
	if (!f[p]) {
		log_[of[p], size[of[p]] + 0] = new[p]
		event("ok", p, "send", "[[:send " of[p] " [" size[of[p]]++ " " new[p] "]]]")
		return
	}
	for (k = 0; k < 8; k++) { # of each log the next four that the process has not polled
		end = size[k] + 0
		if (end > polled[p, k] + 4) end = polled[p, k] + 4
		some = ""
		for (i = polled[p, k] + 0; i < end; i++) some = some (some == "" ? "" : " ") "[" i " " log_[k, i] "]"
		polled[p, k] = end
		if (some != "") all = all (all == "" ? "" : ", ") k " [" some "]"
	}
	event("ok", p, "poll", "[[:poll {" all "}]]")
}

function ask(p) {
	if (kind == "register") ask_register(p)
	else if (kind == "set") ask_set(p)
	else if (kind == "queue") ask_queue(p)
	else ask_kafka(p)
}
function tell(p) {
	if (kind == "register") tell_register(p)
	else if (kind == "set") tell_set(p)
	else if (kind == "queue") tell_queue(p)
	else tell_kafka(p)
}

BEGIN {
	srand(1)
	for (done = 0; done < n; done += 10) {
		for (p = 0; p < 10; p++) ask(p)
		for (p = 0; p < 10; p++) tell(p)
	}
	if (kind == "set") {
		event("invoke", 0, "read", "nil")
		printf "{:index %d, :time %d, :type :ok, :process 0, :f :read, :value #{", at, at * 1000
		for (i = 0; i < last; i++) printf "%s%d", (i ? " " : ""), i
		print "}}"
	}
	if (kind == "queue") {
		event("invoke", 0, "drain", "nil")
		printf "{:index %d, :time %d, :type :ok, :process 0, :f :drain, :value [", at, at * 1000
		for (i = head; i < tail; i++) printf "%s%d", (i > head ? " " : ""), queue[i]
		print "]}"
	}
}
