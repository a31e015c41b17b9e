package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Price is the price of one node.
type Price struct {
	PerHour  float64
	Currency string // empty if it is not said
}

// PriceForm tells users how to give a price.
const PriceForm = "what a node costs, such as 0.17/h, 0.17 USD/h or 120 EUR/month"

var priceText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?|\.[0-9]+) ?([A-Za-z]{3})?/(h|day|month)$`)
})

// hoursOfMonth is the average that clouds use.
const hoursOfMonth = 730

// ParsePrice reads a price; false if the text is none.
func ParsePrice(text string) (Price, bool) {
	parts := priceText().FindStringSubmatch(text)
	if parts == nil {
		return Price{}, false
	}
	amount, err := strconv.ParseFloat(parts[1], 64)
	hours := map[string]float64{"h": 1, "day": 24, "month": hoursOfMonth}[parts[3]]
	return Price{amount / hours, strings.ToUpper(parts[2])}, err == nil && amount > 0
}

// Cost is the price of all nodes, arbiters included, or of one node if their number is not known.
type Cost struct {
	Price    string `json:"price_per_node"`
	Currency string `json:"currency,omitempty"`
	// Nodes is 0 if not known.
	Nodes   int     `json:"nodes"`
	PerHour float64 `json:"per_hour"`
	// PerMillion is for a million commits at the measured throughput; 0 if there was none.
	PerMillion float64 `json:"per_million_committed,omitempty"`
	// PerGigabyteMonth and PerMillionRowsMonth are for what the database held; 0 if that is
	// unknown or below a tenth of the unit.
	PerGigabyteMonth    float64 `json:"per_gb_month,omitempty"`
	PerMillionRowsMonth float64 `json:"per_million_rows_month,omitempty"`
}

// CostOf computes the nodes' cost for what the run did and held.
func CostOf(r *Result, text string, p Price) *Cost {
	c := &Cost{Price: text, Currency: p.Currency}
	switch d := &r.Database; {
	case r.Cluster != nil:
		c.Nodes = len(r.Cluster.Nodes)
	case d.Nodes != nil:
		c.Nodes = *d.Nodes
		if d.Arbiters != nil {
			c.Nodes += *d.Arbiters
		}
	case d.Embedded:
		c.Nodes = 1
	}
	c.PerHour = p.PerHour * float64(max(c.Nodes, 1))
	rows := RowsOf(r.Data.Rows)
	const million, gigabyte, secondsOfHour = 1e6, 1e9, 3600
	if r.Throughput.PerSecond > 0 {
		c.PerMillion = c.PerHour / secondsOfHour / r.Throughput.PerSecond * million
	}
	if month := c.PerHour * hoursOfMonth; r.Data.Bytes >= gigabyte/10 {
		c.PerGigabyteMonth = month / float64(r.Data.Bytes) * gigabyte
	}
	if rows >= million/10 {
		c.PerMillionRowsMonth = c.PerHour * hoursOfMonth / float64(rows) * million
	}
	return c
}

// costLine is empty without a price.
func costLine(r *Result) string {
	c := r.Cost
	if c == nil {
		return ""
	}
	money := func(v float64) string { return strings.TrimSpace(short(v) + " " + c.Currency) }
	line := fmt.Sprintf("%s an hour for %d × %s", money(c.PerHour), c.Nodes, c.Price)
	if c.Nodes == 0 {
		line = fmt.Sprintf("for one node at %s, as the number of nodes is not known", c.Price)
	}
	for _, of := range []struct {
		value float64
		what  string
	}{{c.PerMillion, "a million transactions"}, {c.PerGigabyteMonth, "a month for each GB held"}, {c.PerMillionRowsMonth, "a month for each million rows"}} {
		figure := money(of.value)
		if of.value == c.PerMillion && r.Measurement.Invalid() {
			figure = Doubtful(figure)
		}
		if of.value > 0 {
			line += "; " + figure + " " + of.what
		}
	}
	return line
}
