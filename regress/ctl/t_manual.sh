# The commands and options that sandboxctl knows are those of its manual.

# In the order of the page: "name [-ab] [-c arg] arg ..." from each .It.
documented()
{
	awk '
	function item(line,	n, w, i, s, name) {
		n = split(line, w, " ")
		if (w[1] == "Cm") {
			for (i = 2; i <= n; i++)
				name = name (i > 2 ? " " : "") w[i]
			return (name)
		}
		if (w[1] == "Ar") {
			for (i = 2; i <= n; i++)
				s = s " " w[i]
			return (s)
		}
		# Op Fl c Ar cpus; Op Ar id ...
		for (i = 2; i <= n; i++) {
			if (w[i] == "Fl")
				s = s (s == "" ? "" : " ") "-" w[++i]
			else if (w[i] == "Ar")
				continue
			else
				s = s (s == "" ? "" : " ") w[i]
		}
		return (" [" s "]")
	}
	/^The commands are as follows:/ { on = 1; next }
	on && /^\.Bl/ { depth++; next }
	on && /^\.El/ { if (--depth == 0) exit; next }
	on && depth == 1 && /^\.It Xo/ { xo = 1; text = ""; next }
	on && depth == 1 && /^\.It Cm/ { print item(substr($0, 5)); next }
	xo && /^\.Xc/ { print text; xo = 0; next }
	xo { text = text item(substr($0, 2)) }
	' "$1"
}

# The options of each command as its own list explains them.
explained()
{
	awk '
	/^The commands are as follows:/ { on = 1; next }
	on && /^\.Bl/ { depth++; next }
	on && /^\.El/ { if (--depth == 0) exit; next }
	on && depth == 1 && /^\.It Cm/ { cmd = $0; sub(/^.It Cm /, "", cmd) }
	on && depth == 1 && /^\.It Xo/ { getline; cmd = $0
	    sub(/^.Cm /, "", cmd) }
	on && depth == 2 && /^\.It Fl/ {
		s = "[-" $3
		if ($4 == "Ar") s = s " " $5
		print cmd " " s "]"
	}' "$1"
}

atf_test_case commands
commands_head()
{
	atf_set descr 'usage and manual name the same, in the same order'
}
commands_body()
{
	page=$SBX_TOP/man/sandboxctl.8
	documented "$page" >want
	[ "$(wc -l <want)" -ge 20 ] || atf_fail "the manual is not understood"
	"$SBX_BIN/sandboxctl" 2>&1 | sed -n '/^commands:/,$s/^	//p' >have
	atf_check -o file:want cat have
	# Sorted, as everybody looks things up.
	sed 's/ [[-].*//; s/ id.*//; s/ exec$//; s/ name file//' want >names
	LC_ALL=C sort names >sorted
	atf_check -o file:sorted cat names
}

atf_test_case options
options_head()
{
	atf_set descr 'each option that is explained is one of its command'
}
options_body()
{
	page=$SBX_TOP/man/sandboxctl.8
	"$SBX_BIN/sandboxctl" 2>&1 | sed -n '/^commands:/,$s/^	//p' >have
	explained "$page" >told
	[ "$(wc -l <told)" -ge 20 ] || atf_fail "the manual is not understood"
	while read -r line; do
		cmd=${line%% \[*}
		opt=${line#"$cmd "}
		# Letters without an argument stand together in the usage.
		case $opt in
		*" "*) pat=$opt ;;
		*) pat=${opt#\[-} pat=${pat%\]} ;;
		esac
		grep "^$cmd " have | grep -qF -- "$pat" ||
		    atf_fail "$cmd has no $opt"
	done <told
}

atf_init_test_cases()
{
	atf_add_test_case commands
	atf_add_test_case options
}
