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

# cli_pctr.c has the command lines.
@test "wrong command lines: the usage of this CPU, and the fault of a number" {
	for words in operand '-f c0' '-Z' '-s' '-l -u'; do
		gives_like 1 '*usage: pctr [[]-*[[]-f funct] [[]-m umask] [[]-s ctr]*' pctr $words
	done
	gives 1 'pctr: invalid function number' pctr -s 0 -f 1ff
}

@test "no pctrd: a line with the command that starts it" {
	for words in '' -a -T '-s 0 -f c0'; do
		run -1 pctr $words
		what=pctr_read
		[[ $words != -s* ]] || what=pctr_set_cntr
		says "pctr: $what: $PCTR_DEVICE: No such file or directory: pctrd(8) makes it: start that as root, \"pctrd\""
	done
	: >pctr
	gives 1 "pctr: pctr_read: Inappropriate ioctl for device: it is no pctr(4): pctrd(8) makes one" pctr
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
	run -1 bash -c "'$BUILD/bin/pctr' --help >/dev/full"
	run -1 bash -c "'$BUILD/bin/pctr' -l >/dev/full"
	says "pctr: ERROR: cannot write to standard output: No space left on device"
}

# PCTR-51: and every other error, with words.
@test "refusals by pctrd" {
	stand_in 'error = -int(open("error").read())'
	for each in '1 Operation not permitted: setting takes' '16 Device or resource busy: something else has the counter' \
		'19 No such device: Linux gives no counters' '6 No such device or address: counters take pctrd(8) and pmcbpfd(8)' \
		'13 Permission denied: pctrd(8) may not count' '5 Input/output error'; do
		echo "${each%% *}" >error
		run -1 pctr -s 1 -f c0
		[[ $output == "pctr: pctr_set_cntr: ${each#* }"* && ${#lines[@]} -eq 1 ]]
		run -1 pctr
		[[ $output == "pctr: pctr_read: ${each#* }"* && ${#lines[@]} -eq 1 ]]
	done
	echo -1 >error
	gives 1 "pctr: pctr_read: Protocol error" pctr
}

# PCTR-03, PCTR-04: readings as printed, of one CPU and of all; an inconsistent time is reported.
@test "readings" {
	stand_in 'state = struct.pack("<4I5Q", 0x4300c0, 0x3c10076, 0, 0, 8833816636294, 116, 2**40 - 1, 0, 0)'
	gives_like 0 ' ctr0 =              116  [[]--ku c0 00 *  tsc =    8833816636294' pctr
	run -0 pctr -a
	[ "$(awk '/ctr0/ { print $3 }' <<<"$output")" -eq $(($(getconf _NPROCESSORS_ONLN) * 116)) ]
	run -1 --separate-stderr pctr -T
	[ "$stderr" = "pctr: PCIOCRD: its figures are not sound" ]
}
