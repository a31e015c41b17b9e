#!/bin/sh
# Makes docs/demo's two runs and the README's picture.
#
#   scripts/make-demo.sh [killed-primary] [read-skew]    these runs, by default both (a minute)
#   scripts/make-demo.sh pages                           no run
#
# Then it makes the pages and docs/report.png from the results. ASSAY_DEMO replaces docs/demo; the
# picture lies beside it. ASSAY_PROGRAM is a built assay.
#
# docs/demo/NAME is a run's folder with its page, without history and state: enough for assay report
# and assay view. Names of other programs on the machine are removed. Runs that such programs made
# invalid replace nothing.
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

# run CODE NAME ARGUMENTS... makes a run in the folder NAME that must end with this code.
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

# The picture has the part above the checks. A copy of the page, with a script, reports its height.
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
