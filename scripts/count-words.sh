#!/bin/sh
# Counts the words of the documents. It fails for a guide of over 1200 words or with a sentence of
# over 30, for over 45 decisions or one of over 150 words, for trust.md or performance.md of over
# 1500, for over 60000 words or 45 pages in all. A span of code is one word. A block of code counts in
# its page's words and in no sentence. Decisions are no pages, and forms (.github) no documents.
set -eu
cd "$(dirname "$0")/.."

words() { cat "$@" /dev/null | wc -w; }

# Paragraphs, list items and table cells, one a line, without code and link targets.
paragraphs() {
	awk '
	function flush() { if (text != "") print text; text = "" }
	/^ *```/ { flush(); code = !code; next }
	code { next }
	/^ *$/ || /^#/ || /^<!--/ { flush(); next }
	/^ *\|/ { flush(); rows = split($0, cell, /\|/); for (i = 1; i <= rows; i++) print cell[i]; next }
	/^ *([-*]|[0-9]+\.) / { flush(); sub(/^ *([-*]|[0-9]+\.) /, "") }
	{ text = text " " $0 }
	END { flush() }' "$1" |
		sed -E 's/`[^`]*`/code/g; s/\]\([^)]*\)/]/g; s/[.][.][.]/ /g'
}

# Sentences of over 30 words. A sentence ends in a full stop, a question or an exclamation mark.
long() {
	paragraphs "$1" | awk -v file="$1" '
	{
		n = 0; sentence = ""
		fields = split($0, word, /[ \t]+/)
		for (i = 1; i <= fields; i++) {
			if (word[i] ~ /^[^A-Za-z0-9]*$/) continue
			n++; sentence = sentence " " word[i]
			if (i == fields || word[i] ~ /[.?!][])"*_]*$/) {
				if (n > 30) { print file ": " n " words:" sentence; bad = 1 }
				n = 0; sentence = ""
			}
		}
	}
	END { exit bad }'
}

failed=0
for guide in docs/guides/*.md; do
	[ -e "$guide" ] || continue
	count=$(words "$guide")
	[ "$count" -le 1200 ] || { echo "$guide: $count words, over 1200"; failed=1; }
	long "$guide" || failed=1
done

decisions=0
for decision in docs/internals/decisions/*.md; do
	[ "$(basename "$decision")" = README.md ] && continue
	decisions=$((decisions + 1))
	count=$(words "$decision")
	[ "$count" -le 150 ] || { echo "$decision: $count words, over 150"; failed=1; }
done
[ "$decisions" -le 45 ] || { echo "$decisions decisions, over 45"; failed=1; }
for page in docs/internals/trust.md docs/internals/performance.md; do
	count=$(words "$page")
	[ "$count" -le 1500 ] || { echo "$page: $count words, over 1500"; failed=1; }
done

pages() { find . -name '*.md' -not -path '*/testdata/*' -not -path './CHANGELOG.md' -not -path './.git*/*' "$@"; }
guides=$(pages -path './docs/guides/*')
reference=$(pages -path './docs/reference/*')
results=$(pages -path './docs/studies/*')
internals=$(pages -path './docs/internals/*')
all=$(pages)
for kind in guides reference results internals all; do
	eval "files=\$$kind"
	count=$(words $files) number=$(echo "$files" | grep -c . || true)
	printf '%-10s %4d pages %7d words\n' "$kind" "$number" "$count"
done
[ "$count" -le 60000 ] || { echo "$count words, over 60000"; failed=1; }
beside=$((number - $(pages -path './docs/internals/decisions/*' | wc -l)))
[ "$beside" -le 45 ] || { echo "$beside pages beside the decisions, over 45"; failed=1; }
exit $failed
