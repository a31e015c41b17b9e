package check

// Rules is the number of the rules that judge runs. Raise it with each change that gives an
// old run another verdict, or another statement of what its product promises. Results and
// published pages carry it: a page with older rules is made again, marked as older, or withdrawn.
//
//	1: the rules until 28 November 2026; results have no number.
//	2: data found later is no acknowledgement; the manuals' promises count by version and by
//	   the settings in force; the verdict allowed exists.
//	3: where Patroni's old primary stood still, only a watchdog guarantees that nothing is lost.
const Rules = 3
