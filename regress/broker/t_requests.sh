# What SECURITY CONSIDERATIONS of sandboxd(8) says the broker can ask of the
# Engine is what its source can: as many, and the same.

# Each request, with the words of the page that are about it.
words()
{
	cat <<-'END'
	OP_CREATE make
	OP_EVENTS its events
	OP_IMAGE_IMPORT import an image
	OP_IMAGE_INSPECT to inspect and to import an image
	OP_INFO what it is
	OP_INSPECT make, inspect, start
	OP_KILL kill
	OP_LIST to list containers
	OP_PAUSE kill, pause
	OP_REMOVE remove one
	OP_START start
	OP_UNPAUSE unpause
	OP_UPDATE to change its limits
	OP_VERSION its version
	END
}

# The sentence of the page, on one line.
sentence()
{
	awk '/^Its program has .* requests to the Engine/ { on = 1 }
	    on { printf "%s ", $0 }
	    on && /\.$/ { print ""; exit }' "$SBX_TOP/man/sandboxd.8"
}

# What a file of the broker has of the requests, one a line.
requests()
{
	grep -o 'OP_[A-Z_]*' "$SBX_TOP/sandboxd/$1" | LC_ALL=C sort -u
}

atf_test_case manual
manual_head()
{
	atf_set descr 'the requests that the manual names are those there are'
}
manual_body()
{
	words | cut -d' ' -f1 >want
	for f in engine_call.h engine_api.c engine.c; do
		requests "$f" >have
		atf_check -o file:want cat have
	done
	# One path for each, in this file alone.
	n=$(grep -c '"/[a-z]' "$SBX_TOP/sandboxd/engine_api.c")
	atf_check_equal 14 "$n"
	sentence >said
	atf_check -o match:" fourteen requests to the Engine and no others: " \
	    cat said
	words | while read -r op words; do
		grep -qF -- "$words" said || echo "$op: the page has no: $words"
	done >wrong
	atf_check cat wrong
	# It names as many.
	sed 's/.*: //; s/ and /, /g; s/ *$//' said | tr ',' '\n' |
	    grep -c '[a-z]' >items
	atf_check -o inline:"14\n" cat items
}

atf_init_test_cases()
{
	atf_add_test_case manual
}
