package report

import "assay/check"

// Promise reports whether the database kept what its vendor promises. That is not
// always what the checks were judged against: the user may ask for another
// consistency model, and miss that alone.
type Promise struct {
	// Model is the consistency model that the vendor promises at the isolation
	// level in force; empty where the workload has none, and its checks are what
	// every database promises.
	Model string `json:"model"`
	// Asked is the model that the checks were judged against, if the user named
	// another than Model; empty otherwise.
	Asked string `json:"asked_model,omitempty"`
	// Kept is nil if that is not decided.
	Kept *bool `json:"kept"`
	// Detail describes why it was not kept, or is not decided; empty otherwise.
	Detail string `json:"detail,omitempty"`
}

// promiseLine tells a missed model that was asked for from a broken promise. It
// is empty where the checks were judged against the promise itself.
func promiseLine(r *Result) string {
	p := r.Promise
	if p == nil || p.Asked == "" {
		return ""
	}
	var asked string
	switch r.Verdict {
	case check.Violated:
		asked = "not " + p.Asked + ", as was asked"
	case check.Valid:
		asked = p.Asked + ", as was asked"
	default:
		asked = p.Asked + " was asked"
	}
	return asked + "; " + p.outcome()
}

// outcome describes whether the vendor's promise was kept.
func (p *Promise) outcome() string {
	what := "what the vendor promises"
	if p.Model != "" {
		what += " (" + p.Model + ")"
	}
	switch {
	case p.Kept == nil && p.Model == "":
		return what + " is not known"
	case p.Kept == nil:
		return "whether " + what + " was kept is undecided"
	case *p.Kept:
		return what + " was kept"
	}
	return what + " was broken"
}

// meaning describes what a verdict means for the database.
func meaning(r *Result) string {
	p := r.Promise
	asked := p != nil && p.Asked != ""
	switch {
	case r.Verdict == check.Violated && asked && p.Kept == nil:
		return "The database is not " + p.Asked + ", which was asked for. " + sentence(p.outcome()) + " What was found is listed with each check below."
	case r.Verdict == check.Violated && asked && *p.Kept:
		return "The database kept what its vendor promises (" + p.Model + "). It is not " + p.Asked +
			", which was asked for. What was found is listed with each check below."
	case r.Verdict == check.Violated:
		return "The database broke a promise. What was found is listed with each check below."
	case r.Verdict == check.Valid && asked && p.Kept != nil && !*p.Kept:
		return "Nothing was found that " + p.Asked + " forbids, which was asked for. The database broke what its vendor promises (" + p.Model + ")."
	case r.Verdict == check.Valid:
		return "Everything that the checks below name was looked at, and nothing was wrong."
	}
	return "It is not known whether the database kept its promise. That is not the same as valid."
}
