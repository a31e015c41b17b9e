#!/bin/sh
# Records a session of assay on a terminal of 80 columns, as asciinema's asciicast and as a moving
# picture.
#
#   scripts/record-session.sh [FOLDER COMMAND...]
#
# Each command is typed and run in a new folder, which is then removed. FOLDER gets session.cast and
# session.svg. Without arguments it is docs/demo, with the commands below (75 seconds); if other
# programs made the figures invalid, nothing is replaced. ASSAY_PROGRAM is a built assay.
set -eu
cd "$(dirname "$0")/.."

say() { echo "record-session: $*" >&2; }
fail() {
	say "$*"
	exit 1
}

demo=
if [ $# -eq 0 ]; then
	demo=yes
	set -- docs/demo \
		'# Money is moved between accounts in an embedded SQLite file' \
		'assay run bank' \
		'# The same on a database that is broken on purpose' \
		'assay run bank --option bug=lost-ack:0.001 --ops 10000' \
		'# A MongoDB replica set, whose primary is killed' \
		"assay run bank --cluster mongodb:3 --duration 30s --fault 'kill primary at 5s'"
fi
[ $# -ge 2 ] || fail "usage: $0 [FOLDER COMMAND...]"
folder=$1
shift
for program in asciinema termtosvg; do
	command -v $program >/dev/null || fail "there is no $program: run scripts/install-servers.sh terminal"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir "$work/session"
if [ -n "${ASSAY_PROGRAM-}" ]; then
	ln -s "$ASSAY_PROGRAM" "$work/assay"
else
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$work/assay" ./cmd/assay
fi
printf '%s\n' "$@" >"$work/commands"
# Types a letter at a time, with time to read the output. The file "failed" names commands that end
# other than valid or violated.
cat >"$work/type" <<'SCRIPT'
while read -r line <&3; do
	printf '\033[32m$\033[0m '
	rest=$line
	while [ -n "$rest" ]; do
		printf '%s' "${rest%"${rest#?}"}"
		rest=${rest#?}
		sleep 0.03
	done
	echo
	case $line in '#'*) continue ;; esac
	code=0
	eval "$line" 3<&- || code=$?
	[ $code -le 1 ] || echo "exit code $code: $line" >>../failed
	echo
	sleep 4
done 3<../commands
SCRIPT

unset ASSAY_DB NO_COLOR
export LC_ALL=C.UTF-8 TERM=xterm-256color PATH="$work:$PATH"
(cd "$work/session" && asciinema rec --quiet --overwrite --env TERM --title 'assay' --idle-time-limit 3 \
	--cols 80 --rows 32 --command 'sh ../type' ../session.cast </dev/null)
[ ! -e "$work/failed" ] || fail "$(cat "$work/failed")"
if grep -wF -e "$(uname -n)" -e "$HOME" -e "$work" "$work/session.cast" >&2; then
	fail "this tells the machine's name or a folder of it"
fi
if [ -n "$demo" ] && grep -q INVALID "$work/session.cast"; then
	fail "the figures are invalid, which the session would show: try again when nothing else runs here"
fi
# The screen changes so seldom that a frame a second is enough.
termtosvg render "$work/session.cast" "$work/session.svg" -m 1000 -M 4000 -D 4000 -t window_frame >/dev/null
mkdir -p "$folder"
mv "$work/session.cast" "$work/session.svg" "$folder"
say "$folder/session.cast and $folder/session.svg"
