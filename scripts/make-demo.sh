#!/bin/sh
# Makes what docs/demo has of two runs, and the README's picture.
#
#   scripts/make-demo.sh [killed-primary] [read-skew]    these runs, by default both (a minute)
#   scripts/make-demo.sh pages                           no run
#
# Then the pages and docs/report.png are made of the results that are there. ASSAY_DEMO is
# another folder than docs/demo; the picture lies beside it.
#
# docs/demo/NAME is the folder of a run, with its page, without the history and the state
# that was read back: enough for assay report and assay view. The names of other programs
# on the machine are taken out. Runs whose figures are invalid, since such programs took the
# machine, replace nothing. ASSAY_PROGRAM is an assay that was built.
set -eu
cd "$(dirname "$0")/.."

demo=${ASSAY_DEMO:-docs/demo}
picture=$demo/../report.png
width=1280

say() { echo "make-demo: $*" >&2; }
fail() {
	say "$*"
	exit 1
}

command -v chromium >/dev/null || fail "there is no chromium: run scripts/install-servers.sh chromium"
unset ASSAY_DB
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
if [ -n "${ASSAY_PROGRAM-}" ]; then
	ln -s "$ASSAY_PROGRAM" "$work/assay"
else
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$work/assay" ./cmd/assay
fi

# run CODE NAME ARGUMENTS... does a run that is to end with this code, in the folder NAME.
run() {
	want=$1
	name=$2
	shift 2
	say "assay run $*"
	code=0
	(cd "$work" && ./assay run "$@" --out "$name") >"$work/$name.txt" 2>/dev/null || code=$?
	[ $code -eq "$want" ] || fail "ended with $code and not $want: $(cat "$work/$name.txt")"
	! grep -q INVALID "$work/$name.txt" || fail "the figures are invalid: try again when nothing else runs here. $(grep -A9 '^measurement' "$work/$name.txt")"
	rm -rf "${demo:?}/$name"
	mkdir -p "$demo/$name"
	cp "$work/$name/environment.json" "$work/$name/scenario.yaml" "$demo/$name"
	sed "s/\"server\":\"$(uname -n) /\"server\":\"localhost /" "$work/$name/servers.jsonl" >"$demo/$name/servers.jsonl"
	awk '/^ *"processes": \[$/ { sub(/\[$/, "[],"); print; inside = 1 } !inside { print } /^ *\],?$/ { inside = 0 }' \
		"$work/$name/result.json" >"$demo/$name/result.json"
}

[ $# -gt 0 ] || set -- killed-primary read-skew
for name; do
	case $name in
	killed-primary) run 0 "$name" bank --cluster mongodb:3 --clients 8 --duration 30s --fault 'kill primary at 10s for 8s' ;;
	read-skew) run 1 "$name" isolation --option bug=read-skew:0.002 --duration 12s ;;
	pages) ;;
	*) fail "usage: $0 [killed-primary] [read-skew] [pages]" ;;
	esac
done
for folder in "$demo"/*/; do
	"$work/assay" report "$folder" >/dev/null
	if found=$(grep -rwFo -e "$(uname -n)" -e "$HOME" -e "$work" "$folder"); then
		fail "this tells the machine's name or a folder of it: $found"
	fi
done

# The picture has what is above the checks. How high that is, a copy of the page says that may
# run a script for it.
browse() { chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/chromium" --virtual-time-budget=5000 "$@" 2>>"$work/chromium.txt"; }
page=$(cd "$demo" && pwd)/killed-primary/report.html
{
	sed '/http-equiv="Content-Security-Policy"/d' "$page"
	echo '<script>document.title = "above " + Math.floor(document.getElementById("checks").getBoundingClientRect().top)</script>'
} >"$work/measured.html"
height=$(browse --window-size=$width,900 --dump-dom "file://$work/measured.html" | sed -n 's/.*<title>above \([0-9]*\)<.*/\1/p')
[ -n "$height" ] && browse --window-size=$width,"$height" --screenshot="$work/picture.png" "file://$page" ||
	fail "chromium made no picture: $(cat "$work/chromium.txt")"
mv "$work/picture.png" "$picture"
say "$demo and $picture"
