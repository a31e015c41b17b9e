package script

import (
	"assay/workload/script/access"
)

// wordsOf are the words of a statement for package access.
func wordsOf(all []token) []access.Word {
	kinds := map[tokenKind]access.Kind{word: access.Name, quoted: access.Quoted, literal: access.Literal, parameter: access.Parameter, sign: access.Sign}
	words := make([]access.Word, len(all))
	for i, t := range all {
		words[i] = access.Word{Kind: kinds[t.kind], Text: t.text}
	}
	return words
}

// wordsIn are those of a text; nil if it cannot be taken apart.
func wordsIn(text string) []access.Word {
	all, _, err := single(text)
	if err != nil {
		return nil
	}
	return wordsOf(all)
}
