# SPDX-License-Identifier: BSD-2-Clause
#
# A tool's option tables as data.  Reads a preprocessed source (-v file=cli/TOOL/NAME.c) and prints for each
# option and each subcommand in it, with tabs between,
#	KEY LETTER NAME KIND HELP
# KEY is "TOOL", or "TOOL SUBCOMMAND" for the options of a subcommand.  LETTER and NAME are as typed, or empty;
# LETTER is "command" for a subcommand.  KIND says how the argument is completed, "-" if there is none.  HELP is
# empty for an option that is accepted, but not offered.

function unquote(text)
{
	gsub(/" +"|^"|"$/, "", text)
	gsub(/\\"/, "\"", text)
	return text ~ /void/ ? "" : text
}

# By the name that --help gives the argument, where that says enough.
function kind(key, name, arg)
{
	if (arg == "" || arg == "[FILE]")	# a file only behind "="
		return "-"
	if (name == "events")
		return "eventlist"
	if (arg == "EVENT" || name == "event")
		return "events"
	if ((key == "pmcstat" && name == "cpus") || (key == "pmccontrol" && arg == "CPU"))
		return "cpus"
	if (key == "pctr" && arg ~ /^(CTR|FUNCT|CPU)$/)
		return "pctr_" tolower(arg)
	if (arg ~ /^(CLASSES|DIR|PID|PROCESS|ROW|WHEN)$/)
		return tolower(arg)
	if (arg ~ /^\[NAME/)
		return "tunable"
	return arg ~ /^(FILE|LOG|PATH|SYSTEM)$/ ? "file" : "none"
}

# Takes the first field from `row`: strings that follow each other, or anything up to a comma.
function field(    text)
{
	if (!match(row, /^ *("([^"\\]|\\.)*" *)+/) && !match(row, /^[^,]*/))
		return ""
	text = substr(row, 1, RLENGTH)
	row = substr(row, RLENGTH + 2)
	gsub(/^ *| *$/, "", text)
	return text
}

function put_option(own_h,    code, letter, name, arg, help, i)
{
	code = field()
	name = unquote(field())
	arg = unquote(field())
	help = unquote(field())
	if (code ~ /^'/)
		letter = "-" substr(code, 2, 1)
	else if (code == "OPT_HELP" && !own_h)
		letter = "-h"
	if (code == "OPT_HELP")
		help = "show the options"
	else if (code == "OPT_VERSION")
		help = "show the version"
	else if (help ~ /^refused/)
		help = ""
	sub(/^… /, "", help)
	for (i = 1; i <= nkeys; i++)
		print keys[i] "\t" letter "\t" (name == "" ? "" : "--" name) "\t" kind(keys[i], name, arg) "\t" help
}

function put_command(    name, help)
{
	name = unquote(field())
	while (row ~ /"/)
		help = field()
	print keys[1] "\tcommand\t" name "\t-\t" unquote(help)
}

# The keys of a file's options.  A file of cli/pmc/ bears the name of a subcommand, or the beginning of several.
function find_keys(    path, tool, base, all, i)
{
	split(file, path, "/")
	tool = path[2]
	base = path[3]
	gsub(/^pmc_|[.]c$/, "", base)
	nkeys = 0
	if (tool == "analysis") {
		nkeys = split("pmcstat report,pmc report", keys, ",")
	} else if (tool == "pmc" && base != "pmc") {
		split("filter,list-events,record,stat,stat-system,summary", all, ",")
		for (i in all)
			if (index(all[i] "-", base "-") == 1)
				keys[++nkeys] = "pmc " all[i]
	} else {
		keys[++nkeys] = tool
	}
}

BEGIN { find_keys() }

/^static const struct [a-z_]*opt [a-z_]*options\[\] = / {
	table = "options"
	if (/ktrdump_options/)
		keys[1] = "ktrdump"
	next
}
/^} *(sub)?commands\[\] = / { table = "commands"; next }
table && /^};/ {
	own_h = text ~ /[{] *'h',/
	count = split(text, rows, "}")
	for (i = 1; i <= count; i++) {
		row = rows[i]
		if (!sub(/^[^{"]*[{][ {]*/, "", row))
			continue
		if (table == "options")
			put_option(own_h)
		else
			put_command()
	}
	table = text = ""
	next
}
table { text = text " " $0 }
