#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a command on a terminal of its own, as somebody who looks and types.

terminal.py ROWSxCOLS STEP... -- COMMAND...

wait=REGEX    until the screen matches (its lines, joined by newlines)
type=TEXT     keys; \\x1b and \\r as in C
size=RxC      another size of the terminal
show          print the screen, with a line of dashes below
colours       print the colours that are there, in one line
raw           is the terminal in a mode of its own? "raw" or "cooked"
kill=NAME     a signal for the command
run=COMMAND   of a shell, meanwhile
continue      the command that ^Z has stopped goes on
end           until the command ends; prints "status N", and the screen

Every wait has a minute."""
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pyte

SECONDS = 60
MOVES = re.compile(rb"[^\0-\37][\0-\37]")  # printable text, and sequences that move the cursor


class Screen(pyte.Screen):
    def resize(self, lines=None, columns=None):
        # A terminal that changes size keeps its contents; the program is notified and redraws.
        super().resize(lines, columns)
        self.cursor.y = min(self.cursor.y, self.lines - 1)
        self.cursor.x = min(self.cursor.x, self.columns - 1)


class Terminal:
    def __init__(self, rows, cols, command):
        self.screen = Screen(cols, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.status = None
        self.pending = b""
        self.master, slave = os.openpty()
        self.slave = slave
        self.size(rows, cols)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            # ^Z does not stop a session leader: the command is in a group of a shell's.
            child = os.fork()
            if child:
                self.shell(child, slave)
            os.setpgid(0, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(slave, os.getpid())
            # Signals as a terminal's shell sets them, whatever our caller ignores.
            for signo in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP, signal.SIGTTOU):
                signal.signal(signo, signal.SIG_DFL)
            for fd in 0, 1, 2:
                os.dup2(slave, fd)
            os.environ["TERM"] = os.environ.get("TERMINAL_TYPE", "xterm-256color")
            os.environ.pop("LINES", None)
            os.environ.pop("COLUMNS", None)
            os.execvp(command[0], command)

    @staticmethod
    def shell(child, slave):
        """What a shell does for a job: it sees it stop, and lets it go on at SIGUSR1."""
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

        def go_on(signo, frame):
            os.tcsetpgrp(slave, child)
            os.killpg(child, signal.SIGCONT)

        signal.signal(signal.SIGUSR1, go_on)
        while True:
            _, status = os.waitpid(child, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                os.write(slave, b"\r\n[stopped]\r\n")
                continue
            os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))

    def size(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def pump(self, seconds):
        """
        What has come within the time, up to where the cursor moves on: what the screen shows for a moment
        counts as seen, however late we read.
        """
        if not self.pending and select.select([self.master], [], [], seconds)[0]:
            self.pending = os.read(self.master, 65536)
        move = MOVES.search(self.pending)
        cut = move.start() + 1 if move else len(self.pending)
        piece, self.pending = self.pending[:cut], self.pending[cut:]
        self.stream.feed(piece)
        return bool(piece)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, what, done):
        end = time.monotonic() + SECONDS
        while not done():
            if time.monotonic() > end:
                sys.exit(f"waited in vain for {what}; the screen:\n{self.text()}")
            self.pump(0.1)

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def job(self):
        """The command, a child of the shell's."""
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as children:
            return int(children.read().split()[0])

    def colours(self):
        return {cell.fg for line in self.screen.buffer.values() for cell in line.values()} - {"default"}

    def step(self, name, arg):
        if name == "wait":
            self.until(arg, lambda: re.search(arg, self.text(), re.M))
        elif name == "type":
            os.write(self.master, arg.encode().decode("unicode_escape").encode())
        elif name == "size":
            rows, cols = map(int, arg.split("x"))
            self.screen.resize(rows, cols)
            self.size(rows, cols)
        elif name == "show":
            print(self.text() + "\n--------", flush=True)
        elif name == "colours":
            print("colours", *sorted(self.colours()), flush=True)
        elif name == "raw":
            mode = termios.tcgetattr(self.slave)[3]
            print("cooked" if mode & termios.ICANON and mode & termios.ECHO else "raw", flush=True)
        elif name == "kill":
            os.kill(self.job(), getattr(signal, "SIG" + arg))
        elif name == "run":
            subprocess.run(arg, shell=True, check=True)
        elif name == "continue":
            os.kill(self.pid, signal.SIGUSR1)
        elif name == "end":
            self.until("the end", self.ended)
            while self.pump(0):
                pass
            print(f"status {self.status}")
            print(self.text(), flush=True)
        else:
            sys.exit(f"no such step: {name}")


def main():
    at = sys.argv.index("--")
    rows, cols = map(int, sys.argv[1].split("x"))
    terminal = Terminal(rows, cols, sys.argv[at + 1:])
    try:
        for step in sys.argv[2:at]:
            name, _, arg = step.partition("=")
            terminal.step(name, arg)
    finally:
        if not terminal.ended():
            os.killpg(terminal.job(), signal.SIGKILL)
            os.kill(terminal.pid, signal.SIGKILL)
            os.waitpid(terminal.pid, 0)


main()
