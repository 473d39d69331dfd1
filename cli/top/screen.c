/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture on a terminal, by curses: see screen.h. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <curses.h>
#include <term.h>

#include "cli/common/common.h"
#include "screen.h"

#define KEPT_MAX (64 << 10)	/* bytes of other output */

struct screen {
	int fd;			/* of the terminal */
	int keys;		/* of the terminal, for reading */
	int kept;		/* messages and the command's output, a file in memory */
	int stderr_was;		/* standard error; -1: it is no terminal */
	FILE *in, *out;
	SCREEN *curses;
	bool colours;
};

static bool terminal_has(const char *capability)
{
	const char *text = tigetstr(capability);

	return text && text != (const char *)-1;
}

/* Is the type known, and has the terminal the capabilities that views need? */
static bool terminal_can_draw(int fd)
{
	int found;
	bool can = setupterm(NULL, fd, &found) == OK && terminal_has("cup") &&
		   terminal_has("clear");

	if (cur_term)
		del_curterm(cur_term);
	return can;
}

int screen_new(struct screen **made, int fd)
{
	struct screen *s = calloc(1, sizeof(*s));
	const char *type = getenv("TERM");

	*made = s;
	if (!s)
		return fail_errno(EX_OSERR, "ERROR");
	*s = (struct screen){ .fd = fd, .keys = -1, .kept = -1, .stderr_was = -1 };
	setlocale(LC_CTYPE, "");
	if (!terminal_can_draw(fd))
		return fail(EX_UNAVAILABLE, "ERROR: -T cannot draw on a terminal of type \"%s\": "
			    "set TERM, or add \"| cat\" for plain text", type ? type : "");
	s->kept = memfd_create("pmcstat", MFD_CLOEXEC);
	if (s->kept < 0 || fcntl(s->kept, F_SETFL, O_APPEND) != 0)
		return fail_errno(EX_OSERR, "ERROR: Cannot keep the command's output");
	return 0;
}

int screen_output(const struct screen *s)
{
	return s->kept;
}

/* Standard input may be the log. */
static int screen_open_keys(struct screen *s)
{
	if (isatty(STDIN_FILENO))
		s->keys = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		s->keys = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return s->keys;
}

static void screen_keep_messages(struct screen *s)
{
	if (!isatty(STDERR_FILENO))
		return;
	s->stderr_was = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (s->stderr_was >= 0)
		dup2(s->kept, STDERR_FILENO);
}

/* The usual modes of curses, but ^S is a key: a stopped terminal would stop the measurement. */
static void screen_take_terminal(struct screen *s)
{
	struct termios mode;

	cbreak();
	noecho();
	nonl();
	curs_set(0);
	if (tcgetattr(s->fd, &mode) == 0) {
		mode.c_iflag &= ~(tcflag_t)IXON;
		tcsetattr(s->fd, TCSANOW, &mode);
		def_prog_mode();
	}
}

static void screen_choose_colours(struct screen *s)
{
	const char *none = getenv("NO_COLOR");

	s->colours = has_colors() && (!none || !*none) && start_color() == OK;
	if (!s->colours)
		return;
	use_default_colors();
	init_pair(HEAT_LOW, COLOR_GREEN, -1);
	init_pair(HEAT_MIDDLE, COLOR_YELLOW, -1);
	init_pair(HEAT_HIGH, COLOR_RED, -1);
}

static void signal_pass(int signo)
{
	(void)signo;
}

int screen_open(struct screen *s, int *keys)
{
	int out = fcntl(s->fd, F_DUPFD_CLOEXEC, 3);
	struct sigaction handled = { .sa_handler = signal_pass }, stop;

	s->out = out < 0 ? NULL : fdopen(out, "w");
	s->in = screen_open_keys(s) < 0 ? fopen("/dev/null", "re") :
				   fdopen(fcntl(s->keys, F_DUPFD_CLOEXEC, 3), "r");
	/*
	 * Curses leaves a signal alone that has a handler.  Its own handler would write at any
	 * moment; and while it draws it ignores the signal, which discards a pending ^Z.
	 */
	sigaction(SIGTSTP, &handled, &stop);
	if (s->out && s->in)
		s->curses = newterm(NULL, s->out, s->in);
	sigaction(SIGTSTP, &stop, NULL);
	if (!s->curses)
		return fail(EX_OSERR, "ERROR: cannot take the terminal");
	screen_take_terminal(s);
	screen_choose_colours(s);
	screen_keep_messages(s);
	screen_renew(s);
	*keys = s->keys;
	return 0;
}

void screen_size(const struct screen *s, unsigned int *rows, unsigned int *cols)
{
	*rows = (unsigned int)getmaxy(stdscr);
	*cols = (unsigned int)getmaxx(stdscr);
}

static void screen_show_line(const struct screen *s, int row, const char *text, const char *end)
{
	enum heat heat = HEAT_NONE;
	size_t len;

	if (move(row, 0) != OK)
		return;
	while ((len = picture_run(&text, end, &heat)) > 0) {
		if (s->colours)
			attrset(heat == HEAT_NONE ? A_NORMAL : (attr_t)COLOR_PAIR((int)heat));
		addnstr(text - len, (int)len);
	}
	attrset(A_NORMAL);
}

/* Curses sends only the difference to the last picture. */
void screen_show(struct screen *s, const struct picture *picture)
{
	const char *text = picture->text.data, *end = text + picture->text.len;

	erase();
	for (int row = 0; text < end; row++) {
		const char *line = memchr(text, '\n', (size_t)(end - text));

		if (!line)
			line = end;
		screen_show_line(s, row, text, line);
		text = line < end ? line + 1 : end;
	}
	refresh();
}

void screen_renew(struct screen *s)
{
	struct winsize size;

	if (ioctl(s->fd, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	if (isendwin())
		reset_prog_mode();
	clearok(curscr, TRUE);
}

void screen_suspend(struct screen *s)
{
	endwin();
}

static void screen_put_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			return;		/* the terminal is gone */
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
}

void screen_trim(const struct screen *s)
{
	struct stat st;

	if (fstat(s->kept, &st) == 0 && st.st_size > 2 * KEPT_MAX)
		fallocate(s->kept, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			  st.st_size - KEPT_MAX);
}

/* Prints the end of the kept output, from the beginning of a line. */
static void screen_show_kept(const struct screen *s)
{
	char *data = malloc(KEPT_MAX);
	off_t size = lseek(s->kept, 0, SEEK_END), from = size > KEPT_MAX ? size - KEPT_MAX : 0;
	ssize_t n = data ? pread(s->kept, data, KEPT_MAX, from) : 0;
	const char *text = data;

	if (from > 0 && n > 0) {
		const char *line = memchr(data, '\n', (size_t)n);

		text = line ? line + 1 : data;
		note("%jd bytes of other output before this were dropped",
		     (intmax_t)(from + (text - data)));
	}
	if (n > 0)
		screen_put_all(s->fd, text, (size_t)(data + n - text));
	free(data);
}

static void screen_leave(struct screen *s, const struct picture *last)
{
	struct buf text = { 0 };

	endwin();
	if (s->stderr_was >= 0) {
		dup2(s->stderr_was, STDERR_FILENO);
		close(s->stderr_was);
	}
	picture_plain(last, &text);
	screen_put_all(s->fd, text.data, text.len);
	buf_free(&text);
	delscreen(s->curses);
}

void screen_close(struct screen *s, const struct picture *last)
{
	if (!s)
		return;
	if (s->curses)
		screen_leave(s, last);
	if (s->kept >= 0) {
		screen_show_kept(s);
		close(s->kept);
	}
	if (s->in)
		fclose(s->in);
	if (s->out)
		fclose(s->out);
	if (s->keys >= 0)
		close(s->keys);
	free(s);
}
