package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/spelling"
)

// unknownWord is the error for a word that is none of the command's own, with
// the one that may have been meant.
func unknownWord(cmd *cobra.Command, word, problem, want string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	return usageError{fmt.Errorf("%s %q; %s%s", problem, word, want, spelling.Hint(word, "", known))}
}

// flagError adds to an unknown flag's error the flag that may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageError{err}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	return usageError{fmt.Errorf("%w; %s --help has all%s", err, cmd.CommandPath(), spelling.Hint(unknown.GetSpecifiedName(), "--", known))}
}

// onlyWithin is a command that does nothing itself: question is asked without an argument,
// and any argument is an unknown word.
func onlyWithin(question, problem, want string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownWord(cmd, args[0], problem, want)
		}
		return usageError{errors.New(question)}
	}
}
