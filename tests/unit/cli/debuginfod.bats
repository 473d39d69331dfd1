#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# --debuginfod: names of stripped programs from a server on this machine, only if they are asked for.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	ldconfig -p | grep -q libdebuginfod.so.1 || skip "libdebuginfod is not installed"
	export DEBUGINFOD_CACHE_PATH=$PWD/cache
	unset DEBUGINFOD_URLS
	pid=
}

teardown() { [ -z "$pid" ] || kill "$pid"; }

# stripped: a program of one function, /prog below root; its debug information is in web/
stripped() {
	local id
	mkdir -p root
	printf '.text\n.type hidden_name, %%function\nhidden_name: .zero 16\n.size hidden_name, 16\n' |
		gcc -shared -nostdlib -Wl,--build-id=sha1 -x assembler -o root/prog -
	id=$(readelf -n root/prog | sed -n 's/.*Build ID: //p')
	mkdir -p "web/buildid/$id"
	objcopy --only-keep-debug root/prog "web/buildid/$id/debuginfo"
	at=$((16#$(nm root/prog | awk '$3 == "hidden_name" { print $1 }')))
	strip -s root/prog
	python3 - "$at" "$BATS_TEST_DIRNAME" >log <<-'PYTHON'
		import struct, sys
		sys.path.insert(0, sys.argv[2])
		from logrecord import initialize, record
		out = initialize()
		out += record(17, struct.pack("<IIII64sQ", 1, 0, 0x80, 0, b"CLOCK.PROF", 1))
		out += record(9, struct.pack("<iIQQ", 10, 1, 0, 0) + b"/prog\0")
		out += record(14, struct.pack("<iIQ", 10, 0, 0x550000000000) + b"/prog\0")
		out += record(16, struct.pack("<IIIIQ", 10, 10, 1, 1, 0x550000000000 + int(sys.argv[1])))
		sys.stdout.buffer.write(out + record(1, b""))
	PYTHON
}

# serve PYTHON...: runs a server that writes its port to ./port
serve() {
	python3 -c "$1" 3>&- >requests 2>&1 &
	pid=$!
	wait_for test -s port
	DEBUGINFOD_URLS=http://127.0.0.1:$(cat port)
	export DEBUGINFOD_URLS
}

files='
import functools, http.server
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="web")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
open("port", "w").write(str(server.server_port))
server.serve_forever()'

silence='
import socket, time
s = socket.create_server(("127.0.0.1", 0))
open("port", "w").write(str(s.getsockname()[1]))
time.sleep(10**6)'

report() { "$BUILD/bin/pmc" report -r root "$@" log 2>told; }

@test "names come from the server, once, and only with the option" {
	stripped
	serve "$files"
	report --folded - >without
	refute_in 'hidden_name' without
	[ ! -s requests ] && grep -q 'use --debuginfod' told
	report --debuginfod 600 --folded - >folded
	[ "$(cat folded)" = 'prog;hidden_name 1' ]
	[ "$(grep -c GET requests)" -eq 1 ]
	report --debuginfod 600 --folded - | grep -q hidden_name
	[ "$(grep -c GET requests)" -eq 1 ]
}

@test "a report waits for a silent server no longer than it was asked to" {
	stripped
	serve "$silence"
	report --debuginfod 1 --folded - >folded
	refute_in 'hidden_name' folded
	[ -s folded ]
	grep -q 'WARNING: 1 of 1 files did not arrive from debuginfod within 1 s' told
}

@test "--debuginfod without servers, with -T or with another time is refused" {
	stripped
	run -64 "$BUILD/bin/pmc" report --debuginfod 5 log
	[[ $output == *'needs the servers'* ]]
	export DEBUGINFOD_URLS=http://127.0.0.1:1
	run -64 "$BUILD/bin/pmc" report --debuginfod 0 log
	[[ $output == *'Illegal time for --debuginfod "0": 1 to 3600 seconds.'* ]]
	for words in '-R log -T' '-R log' '-s CPU_CLOCK'; do
		run -64 "$BUILD/bin/pmcstat" $words --debuginfod 5
		[[ $output == *'option --debuginfod is for -g/-G or another output of samples'* ]]
	done
}

# refute_in PATTERN FILE
refute_in() { if grep "$1" "$2"; then return 1; fi; }
