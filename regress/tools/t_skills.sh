# The skills of an agent: pushed, found again, and passed over if they are none;
# and the places that one sandbox can have side by side.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

# skill directory name description
skill()
{
	mkdir -p "$1"
	printf -- '---\nname: %s\nlicense: [a, {b: c}]\ndescription: %s\n---\n\n  Do it.\n' \
	    "$2" "$3" >"$1/SKILL.md"
}

# is expression: of the lines of the last answer, in python.
is()
{
	/usr/bin/python3 -I -c '
import json, sys
r = [json.loads(l) for l in open("answer", encoding="utf-8")]
if not eval("(" + sys.argv[1] + ")"):
    sys.exit("not so: %s of %r" % (sys.argv[1], r))' "$1" ||
	    atf_fail "see above"
}

# ok command ...: carried out; its answer, and what was said beside.
ok()
{
	"$CTL" -j skills "$@" >answer 2>err || {
		cat answer err
		atf_fail "skills $*"
	}
}

# said text: a warning of it.
said()
{
	grep -q -- "$1" err || {
		cat err
		atf_fail "not said: $1"
	}
}

atf_test_case push cleanup
push_head()
{
	atf_set descr 'files and no links, what is none is told, the last counts'
	atf_set timeout 180
}
push_body()
{
	world
	box
	skill a/pdf pdf 'Read "PDFs", all'
	skill a/.hidden hidden no
	skill a/csv csv old
	/usr/bin/python3 -c 'import sys
sys.stdout.buffer.write(bytes(range(256)) * 40)' >a/pdf/bytes
	mkdir -p a/pdf/deep/er a/bare
	echo x >a/pdf/deep/er/x
	echo 'pem' >a/pdf/k.pem
	echo 'pdf/' >a/.sandboxignore
	echo secret >a/pdf/.env
	ln -s SKILL.md a/pdf/link
	ln -s pdf a/linked
	mkfifo a/pdf/fifo
	echo no >a/file
	printf -- '---\nname: x\n---\n' >a/bare/SKILL.md
	skill b/other csv new
	echo later >b/x
	ok push "$BOX" a:skills b:skills none:skills
	is '[(s["name"], s["description"], s["local"], s["path"]) for s in r]
	    == [("csv", "new", "b/other", "skills/other"),
	    ("pdf", "Read \"PDFs\", all", "a/pdf", "skills/pdf")]'
	said 'a/bare: no skill: it has no description'
	said 'none: no skill: No such file'
	atf_check -o file:a/pdf/bytes "$CTL" cat "$BOX" skills/pdf/bytes
	atf_check -o file:a/pdf/k.pem "$CTL" cat "$BOX" skills/pdf/k.pem
	atf_check -o inline:"x
" "$CTL" cat "$BOX" skills/pdf/deep/er/x
	"$CTL" ls -R "$BOX" skills | LC_ALL=C sort >names
	for n in link linked fifo .env .hidden .sandboxignore; do
		! grep -qw -- "$n" names || atf_fail "$n is there"
	done
	# Of files with one name the last; and what a person sees.
	mkdir c
	echo last >c/x
	ok push "$BOX" c:skills
	is 'r == []'
	atf_check -o inline:"last
" "$CTL" cat "$BOX" skills/x
	atf_check -o match:'^NAME +PATH +DESCRIPTION$' \
	    -o match:'^csv +/workspace/there +new$' -e ignore \
	    sh -c '"$@" | sed "s/there.other/there/"' x \
	    "$CTL" skills push "$BOX" b:/workspace/there
	# At home, as a shell would have it.
	mkdir -p home/s
	skill home/s/one one 'of home'
	HOME=$PWD/home ok push "$BOX" "~/s:at-home"
	is 'r[0]["local"].endswith("/home/s/one")'
	for bad in a a: :b; do
		atf_check -s exit:64 -e match:'must be local:remote' \
		    "$CTL" skills push "$BOX" "$bad"
	done
	atf_check -s not-exit:0 -e match:'not_directory|Not a directory' \
	    "$CTL" skills push "$BOX" a/file:x
	atf_check -s not-exit:0 -e match:'read_only|permission_denied' \
	    -e not-match:'internal' "$CTL" -j skills push "$BOX" a:/etc/skills
	"$CTL" delete "$BOX"
	daemon_stop
}
push_cleanup()
{
	daemon_cleanup
}

atf_test_case list cleanup
list_head()
{
	atf_set descr 'those of a sandbox, sorted, under the names they say'
	atf_set timeout 180
}
list_body()
{
	world
	box
	ok list "$BOX"
	is 'r == []'
	skill s/zeta zeta last
	skill s/alpha alpha 'first: a "b"' 2>/dev/null
	printf -- '---\r\nname: "alpha"\r\ndescription: >\r\n  first\r\n  of all\r\n---\r\n' \
	    >s/alpha/SKILL.md
	skill s/.dot .dot no
	mkdir s/empty
	atf_check -o ignore -e ignore "$CTL" skills push "$BOX" s:skills
	ok list "$BOX"
	is '[(s["name"], s["description"], s["path"]) for s in r] ==
	    [("alpha", "first of all\n", "/workspace/skills/alpha"),
	    ("zeta", "last", "/workspace/skills/zeta")]'
	said 'skills/empty: no skill: it has no SKILL.md'
	# A link is none; a FIFO, a directory of that name; no permission.
	"$CTL" exec "$BOX" sh -c 'cd skills; ln -s zeta linked
	    mkdir fifo dir shut .git; mkfifo fifo/SKILL.md
	    mkdir dir/SKILL.md; cp zeta/SKILL.md shut; chmod 0 shut/SKILL.md
	    mkdir esc; printf "\033[31m" >esc/SKILL.md' || atf_fail exec
	ok list "$BOX" skills
	is 'len(r) == 2 and r[0]["path"] == "skills/alpha"'
	for n in fifo dir shut esc; do
		said "skills/$n: no skill"
	done
	! grep -q linked err || atf_fail "a link is taken for a directory"
	# Another name than its directory's is an error, and the rest goes on.
	"$CTL" exec "$BOX" cp -r skills/zeta skills/beta || atf_fail exec
	atf_check -s not-exit:0 -o save:answer -e match:'beta' \
	    -e match:'conflict' "$CTL" -j skills list "$BOX"
	is 'len(r) == 2'
	atf_check -s not-exit:0 -e match:'not_directory' \
	    "$CTL" -j skills list "$BOX" skills/zeta/SKILL.md
	# More than one can be asked about.
	"$CTL" exec "$BOX" sh -c 'mkdir many; cd many;
	    seq 1 1001 | xargs mkdir' || atf_fail exec
	atf_check -s not-exit:0 -e match:'limit_exceeded' \
	    "$CTL" -j skills list "$BOX" many
	"$CTL" delete "$BOX"
	atf_check -s not-exit:0 -e match:'wrong_state|not_found' \
	    "$CTL" -j skills list "$BOX"
	daemon_stop
}
list_cleanup()
{
	daemon_cleanup
}

# head text: what it is to those who look for a skill.
head_is()
{
	printf -- "$1" >s/x/SKILL.md
	"$CTL" -j skills push "$BOX" s:skills >answer 2>err ||
	    atf_fail "$(cat err)"
	if [ -n "$2" ]; then
		[ ! -s answer ] || atf_fail "a skill: $1"
		said "$2"
	else
		[ -s answer ] || atf_fail "no skill: $1: $(cat err)"
	fi
}

atf_test_case heads cleanup
heads_head()
{
	atf_set descr 'what the head of a skill may be, and what not'
	atf_set timeout 180
}
heads_body()
{
	world
	box
	mkdir -p s/x
	d='description: d\n'
	head_is "---\nname: x\n$d---\n" ''
	head_is "\357\273\277---\nname: x\n$d---" ''
	head_is "---\r\n\"name\": 'x'\r\n$d---\r\nbody" ''
	head_is "---\nname: 12 monkeys\n$d---\n" ''
	head_is "---\nname: '12'\n$d---\n" ''
	head_is "---\nother: {name: y}\nname: x\n$d---\n" ''
	head_is '' 'does not begin with'
	head_is "name: x\n$d" 'does not begin with'
	head_is "--- \nname: x\n$d---\n" 'does not begin with'
	head_is "---\nname: x\n$d" 'head has no end'
	head_is "---\n---\n" 'no name'
	head_is "---\n$d---\n" 'no name'
	head_is "---\nname: x\n---\n" 'no description'
	head_is "---\nname:\n$d---\n" 'name is no text'
	head_is "---\nname: ''\n$d---\n" 'name is no text'
	head_is "---\nname: 12\n$d---\n" 'name is no text'
	head_is "---\nname: true\n$d---\n" 'name is no text'
	head_is "---\nname: [x]\n$d---\n" 'name is no text'
	head_is "---\nname: x\nname: y\n$d---\n" 'is there twice'
	head_is "---\nname: \"a\\\\0b\"\n$d---\n" 'name is no text'
	head_is "---\nname: &a x\ndescription: *a\n---\n" \
	    'description is no text'
	head_is "---\n- name: x\n- $d---\n" 'no list of keys'
	head_is "---\njust words\n---\n" 'no list of keys'
	head_is "---\nname: 'x\n$d---\n" 'no YAML'
	head_is "---\nname: \377\376\n$d---\n" 'no YAML'
	head_is "---\nname: $(printf '%256s' '' | tr ' ' n)\n$d---\n" \
	    'name is too long'
	head_is "---\nname: x\ndescription: $(printf '%4097s' '' |
	    tr ' ' n)\n---\n" 'description is too long'
	head_is "---\nname: x\n$d#$(printf '%16384s' '' | tr ' ' n)\n---\n" \
	    'head is too long'
	# A thousand lists in one another, and what is 2^30 when expanded.
	head_is "---\nx: $(printf '%5000s' '' | tr ' ' '[')\n---\n" 'no YAML'
	a='a0: &a0 [x, x]\n'
	i=0
	while [ "$i" -lt 30 ]; do
		a="${a}a$((i + 1)): &a$((i + 1)) [*a$i, *a$i]\n"
		i=$((i + 1))
	done
	head_is "---\n${a}name: x\n$d---\n" ''
	"$CTL" delete "$BOX"
	daemon_stop
}
heads_cleanup()
{
	daemon_cleanup
}

# The built-in image with skills in it, which are root's.
atf_test_case places cleanup
places_head()
{
	atf_set descr 'to be read, to be changed apart, to be written: in one'
	atf_set timeout 180
}
places_body()
{
	world
	mkdir image
	id=$(docker -H "unix://$ENGINE" create --network none \
	    sandbox-base x) ||
	    atf_fail "no container"
	docker -H "unix://$ENGINE" export "$id" | tar -xf - -C image ||
	    atf_fail "no image"
	docker -H "unix://$ENGINE" rm "$id" >rm.out
	skill image/skills/pdf pdf fixed
	chmod -R go=rX,u=rwX image/skills
	tar -cf image.tar --owner=0 --group=0 -C image .
	atf_check -o ignore "$CTL" image import "skills-places-$$" image.tar
	mkdir project
	echo mine >project/file
	box -I "skills-places-$$" -C "$PWD/project:project"
	ok list "$BOX" /skills
	is 'r[0]["name"] == "pdf" and r[0]["path"] == "/skills/pdf"'
	# Read-only, to the commands and to the tools alike.
	for c in 'echo x >/skills/pdf/SKILL.md' 'rm /skills/pdf/SKILL.md' \
	    'touch /skills/new' 'mv /skills /other' 'mkdir /skills/pdf/d'; do
		atf_check -s not-exit:0 -e ignore \
		    "$CTL" exec "$BOX" sh -c "$c"
	done
	echo new | atf_check -s not-exit:0 -e match:'permission_denied' \
	    "$CTL" -j tool write "$BOX" /skills/pdf/SKILL.md
	atf_check -s not-exit:0 -e match:'permission_denied' \
	    "$CTL" -j tool delete "$BOX" /skills/pdf/SKILL.md
	# A copy of the host's: changed there, and not here.
	atf_check -o inline:"mine
" "$CTL" cat "$BOX" project/file
	atf_check "$CTL" exec "$BOX" sh -c 'echo theirs >project/file;
	    echo new >project/new; echo out >written'
	atf_check -o inline:"mine
" cat project/file
	[ ! -e project/new ] || atf_fail "it is on the host"
	atf_check -o match:'^changed file' -o match:'^added new' \
	    "$CTL" diff -M seed "$BOX" project
	atf_check -o inline:"theirs
out
" "$CTL" cat "$BOX" project/file written
	"$CTL" delete "$BOX"
	daemon_stop
}
places_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case push
	atf_add_test_case list
	atf_add_test_case heads
	atf_add_test_case places
}
