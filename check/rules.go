package check

// Rules is the number of the rules that judge runs. Raise it with each change that gives an
// old run another verdict, or another statement of what its product promises. Results and
// published pages carry it: a page with older rules is made again, marked as older, or withdrawn.
//
//	1: the rules until 28 November 2026; results have no number.
//	2: data found later is no acknowledgement; the manuals' promises count by version and by
//	   the settings in force; the verdict allowed exists.
//	3: where Patroni's old primary stood still, only a watchdog guarantees that nothing is lost.
//	4: where another model was asked for and missed, and the check by the vendor's has no answer,
//	   nobody is convicted; MySQL's manual does not guarantee that the log is flushed each second;
//	   a fault that was not seen to take effect is in doubt; what nothing was done for has no verdict.
//	5: a setting that damages on a crash hides none that acknowledges early; MyRocks that does not
//	   sync at each commit keeps nothing for certain; a group's new primary may answer with old rows
//	   at EVENTUAL. A server that had to be killed, though it was to end in order, counts as killed;
//	   what is lost by an end in order counts by the manual; a later write behind an earlier one is
//	   no lost record; and a script's transaction that left some of its rows is half done.
const Rules = 5
