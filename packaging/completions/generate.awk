# SPDX-License-Identifier: BSD-2-Clause
#
# A shell's completion file: what tables.awk has printed is the first input, and takes the place of the line
# "# @options@" in the second one.  -v shell=bash, zsh or fish.

function quoted(text)
{
	gsub(/'/, "'\\''", text)
	return "'" text "'"
}

function zsh_option(letter, name, kind, help)
{
	gsub(/\[|\]|:/, "\\\\&", help)
	return "\t\t" (name ~ /^--(help|version)$/ ? "'(- *)'" : "'*'") \
		(letter == "" || name == "" ? letter name : "{" letter "," name "}") \
		quoted("[" help "]" (kind == "-" ? "" : ":" kind ":_pmcbpf_" kind))
}

function fish_option(key, letter, name, kind, help,    word)
{
	split(key, word, " ")
	return "complete -c " word[1] (word[2] == "" ? "" : " -n '__fish_seen_subcommand_from " word[2] "'") \
		(letter == "" ? "" : " -s " substr(letter, 2)) (name == "" ? "" : " -l " substr(name, 3)) \
		(kind == "-" ? "" : kind == "file" ? " -r -F" : kind == "none" ? " -x" : \
		 " -x -a '(__pmcbpf_" kind ")'") " -d " fish_quoted(help)
}

function fish_quoted(text)
{
	gsub(/'/, "\\'", text)
	return "'" text "'"
}

function add_option(key, letter, name, kind, help,    words)
{
	words = letter " " name
	gsub(/^ | $/, "", words)
	if (kind != "-") {
		if (letter != "")
			values[key] = values[key] " " letter "=" kind
		if (name != "")
			values[key] = values[key] " " name "=" kind
	}
	if (help == "")
		return
	offered[key] = offered[key] (offered[key] == "" ? "" : " ") words
	if (shell == "zsh")
		specs[key] = specs[key] zsh_option(letter, name, kind, help) "\n"
	else if (shell == "fish")
		specs[key] = specs[key] fish_option(key, letter, name, kind, help) "\n"
}

function add_command(key, name, help)
{
	commands[key] = commands[key] (commands[key] == "" ? "" : " ") name
	if (shell == "zsh")
		described[key] = described[key] " " quoted(name ":" help)
	else if (shell == "fish")
		specs[key] = specs[key] "complete -c " key " -n __fish_use_subcommand -xa " name " -d " fish_quoted(help) "\n"
}

function put_bash(key)
{
	print "_pmcbpf_options[" quoted(key) "]=" quoted(offered[key])
	print "_pmcbpf_values[" quoted(key) "]=" quoted(values[key])
	if (key in commands)
		print "_pmcbpf_commands[" quoted(key) "]=" quoted(commands[key])
}

function put_zsh(key)
{
	print quoted(key) ")"
	if (key in described)
		print "\tsubcommands=(" substr(described[key], 2) ")"
	print "\tspecs=(\n" specs[key] "\t) ;;"
}

BEGIN { FS = "\t" }
NR == FNR {
	if (!($1 in seen))
		order[++nkeys] = $1
	seen[$1]
	if ($2 == "command")
		add_command($1, $3, $5)
	else
		add_option($1, $2, $3, $4, $5)
	next
}
/^# @options@$/ {
	for (i = 1; i <= nkeys; i++) {
		key = order[i]
		if (key in commands && !(key in offered)) {
			add_option(key, "-h", "--help", "-", "show the subcommands")
			add_option(key, "", "--version", "-", "show the version")
		}
		if (shell == "bash")
			put_bash(key)
		else if (shell == "zsh")
			put_zsh(key)
		else
			printf "%s", specs[key]
	}
	next
}
{ print }
