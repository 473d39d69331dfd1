# SPDX-License-Identifier: BSD-2-Clause
#
# pctr as a whole, where there is no pctrd.  What it makes of other CPUs' events is in cli_pctr.c.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export PCTR_DEVICE=$BATS_TEST_TMPDIR/pctr
}

pctr() { "$BUILD/bin/pctr" "$@"; }

# stand_in COMMAND: a file with a socket beside it, on which python answers by COMMAND.
stand_in() {
	: >pctr
	rm -f pctr.sock
	python3 -c "
import socket, struct
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind('pctr.sock')
s.listen()
print('ready', flush=True)
while True:
    c = s.accept()[0]
    request, value, cpu = struct.unpack('<4xIII', c.recv(16))
    error, state = 0, bytes(56)
    $1
    c.send(struct.pack('<iI', error, 0) + state)
    c.close()" >ready 3>&- &
	server=$!
	wait_for grep -q ready ready
}

teardown() {
	[ -z "${server:-}" ] || { kill -KILL "$server" && wait "$server"; } 2>/dev/null || true
}

@test "wrong command lines: the usage of this CPU, and the fault of a number" {
	for words in operand '-f c0' '-l -T' '-a -C 0' '-s 0 -f c0 -w 1' '-u' '-l -u' '-Z' '-s'; do
		# shellcheck disable=SC2086 # are words
		run pctr $words
		status_is 1
		[[ $output == *"usage: pctr [-"*"[-f funct] [-m umask] [-s ctr]"* ]]
	done
	run pctr -s 4 -f c0
	says 'pctr: counter number is too large: 4'
	run pctr -s 0 -f 1ff
	says 'pctr: invalid function number'
	run pctr -w never
	says 'pctr: "never" is no time in seconds'
}

@test "no pctrd: a line with the command that starts it" {
	for words in '' -a -T '-s 0 -f c0'; do
		# shellcheck disable=SC2086 # are words
		run pctr $words
		status_is 1
		what=pctr_read
		[[ $words != -s* ]] || what=pctr_set_cntr
		says "pctr: $what: $PCTR_DEVICE: No such file or directory: pctrd(8) makes it: start that as root, \"pctrd\""
	done
	: >pctr
	run pctr
	status_is 1
	says "pctr: pctr_read: Inappropriate ioctl for device: it is no pctr(4): pctrd(8) makes one"
}

# PCTR-38: two lines an event at least, in order, none longer than its column.
@test "the list of this CPU's events" {
	run -0 --separate-stderr pctr -l
	[ "${#lines[@]}" -ge 10 ]
	awk 'length > 76 || !/^[0-9a-f][0-9a-f]  [^ ]+(  \([^)]+\))*$|^      [^ ]/' <<<"$output" >bad
	[ ! -s bad ] || { cat bad >&2; false; }
	grep -oE '^[0-9a-f]{2}' <<<"$output" >codes
	sort -c codes
	# A full disk is reported.
	run bash -c "'$BUILD/bin/pctr' --help >/dev/full"
	status_is 1
	run bash -c "'$BUILD/bin/pctr' -l >/dev/full"
	status_is 1
	says "pctr: ERROR: cannot write to standard output: No space left on device"
}

@test "--help and --version" {
	run -0 pctr --help
	[[ ${lines[0]} == "usage: pctr [-"* && $output == *"-w SECONDS "* ]]
	run -0 pctr --version
	[[ $output == "pctr (pmcbpf) "* ]]
}

# PCTR-51: and every other error, with words.
@test "refusals by pctrd" {
	stand_in 'error = -int(open("error").read())'
	for each in '1 Operation not permitted: setting takes' '16 Device or resource busy: something else has the counter' \
		'19 No such device: Linux gives no counters' '6 No such device or address: counters take pctrd(8) and pmcbpfd(8)' \
		'13 Permission denied: pctrd(8) may not count' '5 Input/output error'; do
		echo "${each%% *}" >error
		run pctr -s 1 -f c0
		status_is 1
		[[ $output == "pctr: pctr_set_cntr: ${each#* }"* && ${#lines[@]} -eq 1 ]]
		run pctr
		status_is 1
		[[ $output == "pctr: pctr_read: ${each#* }"* && ${#lines[@]} -eq 1 ]]
	done
	echo -1 >error
	run pctr
	status_is 1
	says "pctr: pctr_read: Protocol error"
}

# PCTR-03, PCTR-04: readings as printed, of one CPU and of all; an inconsistent time is reported.
@test "readings" {
	stand_in 'state = struct.pack("<4I5Q", 0x4300c0, 0x3c10076, 0, 0, 8833816636294, 116, 2**40 - 1, 0, 0)'
	run -0 pctr
	[[ ${lines[0]} == " ctr0 =              116  [--ku c0 00 "* ]]
	[[ ${lines[1]} == " ctr1 =    1099511627775  [i--u 76 00 +3"*"]" ]]
	[ "${lines[-1]}" = "  tsc =    8833816636294" ]
	run -0 pctr -a
	[ "$(awk '/ctr0/ { print $3 }' <<<"$output")" -eq $(($(getconf _NPROCESSORS_ONLN) * 116)) ]
	run -1 --separate-stderr pctr -T
	[ "$stderr" = "pctr: PCIOCRD: its figures are not sound" ]
}

@test "completion" {
	complete_line() {
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		COMPREPLY=()
		_pmcbpf "$1"
	}
	source "$BUILD/completions/pmcbpf.bash"
	complete_line pctr --v
	[ "${COMPREPLY[*]}" = --version ]
	complete_line pctr -s ''
	[ "${COMPREPLY[*]}" = "0 1 2 3" ]
	complete_line pctr -
	for option in $(pctr --help | grep -oE '^ +--?[A-Za-z]+'); do
		[[ " ${COMPREPLY[*]} " == *" $option "* ]] || { echo "$option" >&2; false; }
	done
	complete_line pctr -s 0 -f "$(pctr -l | sed -n '1s/ .*//p')"
	[ "${#COMPREPLY[@]}" -ge 1 ]
}
