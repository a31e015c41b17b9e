package redis

import (
	"bufio"
	"fmt"

	"assay/internal/resp"
)

// command is a command and later its answer.
type command struct {
	words []string
	// answer is one of package resp.
	answer any
	// err is the server's error, or errNone.
	err error
}

func newCommand(words ...string) *command { return &command{words: words} }

func asking(name string, keys []string) *command {
	return newCommand(append(append(make([]string, 0, 1+len(keys)), name), keys...)...)
}

// errNone is a null answer.
const errNone = resp.Error("there is nothing")

func answerOf[T any](c *command) (T, error) {
	as, is := c.answer.(T)
	if c.err == nil && !is {
		return as, fmt.Errorf("%s was answered by a %T", c.words[0], c.answer)
	}
	return as, c.err
}

func (c *command) texts() (texts []string, err error) {
	all, err := answerOf[[]any](c)
	for _, one := range all {
		text, is := one.(string)
		if !is {
			return nil, fmt.Errorf("%s was answered by a list with a %T", c.words[0], one)
		}
		texts = append(texts, text)
	}
	return texts, err
}

// read reads the answer. Its error is the connection's.
func (c *command) read(in *bufio.Reader) (err error) {
	c.answer, err = resp.Read(in)
	switch answer := c.answer.(type) {
	case resp.Error:
		c.answer, c.err = nil, answer
	case nil:
		c.err = errNone
	}
	return err
}
