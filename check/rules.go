package check

// Rules is the number of the rules by which runs are judged. It is raised with every change by
// which a run that was made before gets another verdict, or another word on what its product
// promises. Results and published pages carry it: a page of lower rules is made again, marked as
// older, or withdrawn.
//
//	1: the rules until 28 November 2026; results have no number.
//	2: what is found there later is no acknowledgement, the manuals' promises by version and by
//	   the settings in force, and the verdict allowed.
//	3: where Patroni's old primary stood still, only a watchdog guarantees that nothing is lost.
const Rules = 3
