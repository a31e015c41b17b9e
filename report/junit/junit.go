// Package junit writes test reports in JUnit's XML form, as Jenkins, GitLab and GitHub's readers
// take it.
//
// It must know nothing of databases, runs or checks, and reads nothing.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Answer is how a case ended. The zero value is InError, so that a forgotten answer never passes.
type Answer int

const (
	// InError means that there is no answer.
	InError Answer = iota
	Passed
	Failed
	Skipped
)

// Case is one thing that was tested. Readers identify it by Class and Name over many reports, so
// these must not change.
type Case struct {
	Class, Name string
	Seconds     float64
	Answer      Answer
	// Kind is the sort of failure or error in a word or two. Message is the reason in one line.
	// Both are shown unless the case passed; a skipped case has only Message.
	Kind, Message string
	// Text is the evidence of a failure, or the figures of a pass.
	Text string
}

// Property is a fact about a suite.
type Property struct{ Name, Value string }

// Suite is the cases of one run.
type Suite struct {
	Name string
	// Started is left out if it is zero.
	Started    time.Time
	Seconds    float64
	Properties []Property
	Cases      []Case
}

func (s *Suite) count(a Answer) (n int) {
	for _, c := range s.Cases {
		if c.Answer == a {
			n++
		}
	}
	return n
}

// The elements, in the order that the schema of Jenkins' xUnit plugin wants (junit-10.xsd). The
// encoder escapes attributes and text, and writes U+FFFD for what XML cannot hold; a CDATA
// section would let that through.
type (
	suitesElement struct {
		XMLName  xml.Name       `xml:"testsuites"`
		Name     string         `xml:"name,attr"`
		Tests    int            `xml:"tests,attr"`
		Failures int            `xml:"failures,attr"`
		Errors   int            `xml:"errors,attr"`
		Time     string         `xml:"time,attr"`
		Suites   []suiteElement `xml:"testsuite"`
	}
	suiteElement struct {
		Name       string             `xml:"name,attr"`
		Tests      int                `xml:"tests,attr"`
		Failures   int                `xml:"failures,attr"`
		Errors     int                `xml:"errors,attr"`
		Skipped    int                `xml:"skipped,attr"`
		Time       string             `xml:"time,attr"`
		Timestamp  string             `xml:"timestamp,attr,omitempty"`
		Properties *propertiesElement `xml:"properties"`
		Cases      []caseElement      `xml:"testcase"`
	}
	propertiesElement struct {
		All []propertyElement `xml:"property"`
	}
	propertyElement struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	caseElement struct {
		Name    string         `xml:"name,attr"`
		Class   string         `xml:"classname,attr"`
		Time    string         `xml:"time,attr"`
		Skipped *skippedAnswer `xml:"skipped"`
		Error   *answerElement `xml:"error"`
		Failure *answerElement `xml:"failure"`
		Output  string         `xml:"system-out,omitempty"`
	}
	skippedAnswer struct {
		Message string `xml:"message,attr"`
	}
	answerElement struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// Write writes suites as one named report.
func Write(w io.Writer, name string, suites []Suite) error {
	all, seconds := suitesElement{Name: name}, 0.0
	for _, s := range suites {
		e := element(&s)
		all.Suites = append(all.Suites, e)
		all.Tests, all.Failures, all.Errors = all.Tests+e.Tests, all.Failures+e.Failures, all.Errors+e.Errors
		seconds += s.Seconds
	}
	all.Time = timeOf(seconds)
	text, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	}
	if err != nil {
		return fmt.Errorf("write the test report: %w", err)
	}
	return nil
}

func element(s *Suite) suiteElement {
	e := suiteElement{Name: s.Name, Tests: len(s.Cases), Failures: s.count(Failed), Errors: s.count(InError), Skipped: s.count(Skipped), Time: timeOf(s.Seconds)}
	if !s.Started.IsZero() {
		e.Timestamp = s.Started.UTC().Format("2006-01-02T15:04:05") // the schema has no zone
	}
	if len(s.Properties) > 0 {
		e.Properties = &propertiesElement{}
	}
	for _, p := range s.Properties {
		e.Properties.All = append(e.Properties.All, propertyElement(p))
	}
	for _, c := range s.Cases {
		e.Cases = append(e.Cases, c.element())
	}
	return e
}

func (c Case) element() caseElement {
	e := caseElement{Name: c.Name, Class: c.Class, Time: timeOf(c.Seconds)}
	answer := &answerElement{Message: c.Message, Type: c.Kind, Text: strings.TrimSpace(c.Message + "\n\n" + c.Text)}
	switch c.Answer {
	case Failed:
		e.Failure = answer
	case Skipped:
		e.Skipped, e.Output = &skippedAnswer{c.Message}, c.Text
	case Passed:
		e.Output = c.Text
	default:
		e.Error = answer
	}
	return e
}

// timeOf is in seconds, without an exponent.
func timeOf(seconds float64) string { return strconv.FormatFloat(max(seconds, 0), 'f', 3, 64) }
