# What sandboxd-events(7) says of each type of event is what the store has.
#
# A type that nothing writes yet, so that only its number is taken, is not
# asked for.  Each failure says which file lacks what.

# "EV_X name"
types()
{
	sed -n 's/^	\[\(EV_[A-Z_]*\)\] = "\(.*\)",$/\1 \2/p' \
	    "$SBX_TOP/sandboxd/store.c" | grep -v '^EV_NONE '
}

# "EV_X detail ..."
details()
{
	awk '
	/^static const char \*const event_details/ { on = 1; next }
	on && /^};/ { exit }
	on && /^	\[EV_/ { if (s != "") print s; s = $1; $1 = $2 = "" }
	on { n = split($0, part, "\""); for (i = 2; i <= n; i += 2)
		s = s " " part[i] }
	END { print s }
	' "$SBX_TOP/sandboxd/store_types.c" | sed 's/[][]//g; s/  */ /g; s/ $//'
}

# "name detail ..." of the table, and of the list "name" alone
told()
{
	awk -v head="$1" '
	/^\.Ss / { on = $0 == ".Ss " head; next }
	on && /^\.It Li [a-z]*\.[a-z_]*/ {
		name = $3
		sub(/^\.It Li [^ ]*( Ta )?(Li )?(none$)?/, "")
		gsub(/ ,/, "")
		print name ($0 == "" ? "" : " " $0)
	}' "$SBX_TOP/man/sandboxd-events.7" | sed 's/\*//g'
}

# Where something is written, or kept in a table.
used()
{
	for f in "$SBX_TOP"/sandboxd/*.c; do
		case $f in
		*/store_types.c | */parse.c) ;;
		*) sed '/^	\[EV_[A-Z_]*\] = ".*",$/d' "$f" ;;
		esac
	done | grep -ow 'EV_[A-Z_]*' | sort -u
}

atf_test_case manual
manual_head()
{
	atf_set descr '(aV01) types and their details are those of the manual'
}
manual_body()
{
	types >types
	details >details
	told Details >table
	told Types >list
	used >used
	[ "$(wc -l <types)" -ge 21 ] || atf_fail "store.c is not understood"
	[ "$(wc -l <details)" -ge 21 ] ||
	    atf_fail "store_types.c is not understood"
	[ "$(wc -l <table)" -ge 15 ] || atf_fail "the page is not understood"
	: >wrong
	while read -r ev name; do
		grep -qx "$ev" used || continue
		grep -qw "^$ev" details || {
			echo "$name: store_types.c has no details of $ev" \
			    >>wrong
			continue
		}
		want=$(sed -n "s/^$ev\$/$name/p; s/^$ev /$name /p" details)
		grep -qFx -- "$want" table ||
		    echo "$name: the table in \"Details\" of the page must" \
			"say: $want" >>wrong
		grep -q "^$name\$" list ||
		    echo "$name: not in the list in \"Types\" of the page" \
			>>wrong
	done <types
	cut -d' ' -f1 table >both
	cat list >>both
	sort -u both | while read -r name; do
		grep -q " $name\$" types ||
		    echo "$name: on the page, but no type of store.c" >>wrong
	done
	cut -d' ' -f1 table >have
	LC_ALL=C sort -u have >sorted
	cmp -s have sorted || echo "the table is not sorted" >>wrong
	atf_check cat wrong
}

atf_test_case written
written_head()
{
	atf_set descr '(aV01) each detail that the source writes has a type'
}
written_body()
{
	details | cut -d' ' -f2- | tr ' ' '\n' | sort -u >known
	cat "$SBX_TOP"/sandboxd/store*.c |
	    sed -n 's/.*detail_\(str\|num\)([^,]*, "\([^"]*\)".*/\2/p' |
	    sort -u >literals
	[ "$(wc -l <literals)" -ge 25 ] || atf_fail "nothing is understood"
	# The name of the exec is of no type: each of its events gets it.
	atf_check sh -c 'grep -vx exec literals | comm -23 - known |
	    sed "s/\$/: a detail that no type in store_types.c has/"'
}

atf_init_test_cases()
{
	atf_add_test_case manual
	atf_add_test_case written
}
