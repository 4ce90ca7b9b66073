# Workspaces with a bound: each a file system of its own, of that size, on the
# disk or in memory.

. "$(atf_get_srcdir)/../lib/sandboxd.subr"
. "$(atf_get_srcdir)/../lib/system.subr"

number()
{
	"$CTL" -j show "$1" | sed -n 's/.*"number":\([0-9]*\).*/\1/p'
}

# Where its file system is mounted.
mounted()
{
	grep -c " $STATE/mnt/$1 ext4 " /proc/mounts
}

# Loop devices that have a file of this daemon's.
loops()
{
	local f

	for f in /sys/block/loop*/loop/backing_file; do
		[ -f "$f" ] && cat "$f" 2>/dev/null
	done | grep -c "^$STATE/work/"
}

# A namespace that was made meanwhile has what was mounted then.
elsewhere()
{
	grep -qs " $STATE/mnt/[0-9]" /proc/[0-9]*/mountinfo
}

taken()
{
	atf_check_equal "$1 yes" "$1 $(stat -c '%b %B' "$STATE/work/$1.disk" |
	    awk -v n="$2" '{ print ($1 * $2 >= n ? "yes" : $1 * $2) }')"
}

no_disk_left()
{
	await '[ "$(loops)" = 0 ] || elsewhere'
	atf_check_equal "" "$(ls "$STATE/work")"
	! grep -q " $STATE/mnt/" /proc/mounts ||
	    atf_fail "still mounted: $(grep "$STATE/mnt/" /proc/mounts)"
}

# As the user `one'.
his()
{
	as_user "$one" "$CTL" "$@" </dev/null >out 2>err
}

refused()
{
	! his "$@" || atf_fail "$*: done"
}

inside()
{
	"$CTL" exec "$BOX" sh -c "$1"
}

atf_test_case bound cleanup
bound_head()
{
	atf_set descr 'what a sandbox writes ends at its size; nothing is left'
	atf_set timeout 300
}
bound_body()
{
	world
	box -S 32M -i b
	N=$(number b)
	atf_check_equal 1 "$(mounted "$N")"
	atf_check -o match:'^disk +32M$' -o match:'^root +read-only$' \
	    "$CTL" show b
	atf_check -o match:'"disk":33554432' "$CTL" -j show b
	atf_check -o match:'limit-disk +enforced' "$CTL" show b
	# All of its room is taken, and no thread of the kernel's gives it back.
	taken "$N" 33554432
	grep " $STATE/mnt/$N ext4 " /proc/mounts | grep -q noinit_itable ||
	    atf_fail "$(grep "$STATE/mnt/$N" /proc/mounts)"
	# Its own, and empty.
	atf_check -o inline:"700 $(inside 'id -u')\n" \
	    "$CTL" exec b stat -c '%a %u' /workspace
	atf_check -o empty "$CTL" exec b ls -A /workspace
	atf_check -s exit:1 -e match:'No space left' -o ignore \
	    "$CTL" exec b sh -c 'dd if=/dev/zero of=full bs=1M count=64'
	used=$("$CTL" exec b stat -c %s full)
	[ "$used" -gt 20000000 ] && [ "$used" -lt 33554432 ] ||
	    atf_fail "$used bytes of 32M"
	# What it asks the guest for ends there too.
	atf_check -s not-exit:0 -e match:'no_space|No space|full' sh -c \
	    "head -c 1000000 /dev/zero | '$CTL' put b - more"
	atf_check "$CTL" exec b rm full
	atf_check "$CTL" exec b sh -c 'echo kept >kept'
	# Nothing else can be written to, and what is there is not the host's.
	atf_check -s exit:1 -e match:'Read-only' "$CTL" exec b sh -c \
	    'echo >/x'
	grep " $STATE/mnt/$N ext4 " /proc/mounts | grep -q 'nosuid,nodev' ||
	    atf_fail "$(grep "$STATE/mnt/$N" /proc/mounts)"
	# It is there after a stop, and the daemon's.
	atf_check "$CTL" stop b
	umount "$STATE/mnt/$N" || atf_fail "umount"
	await '[ "$(loops)" = 0 ]' 240
	fallocate -p -o 31457280 -l 1048576 "$STATE/work/$N.disk"
	atf_check "$CTL" resume b
	taken "$N" 33554432
	atf_check -o inline:'kept\n' "$CTL" exec b cat kept
	daemon_stop
	daemon_start
	atf_check -o inline:'kept\n' "$CTL" exec b cat kept
	atf_check_equal 1 "$(mounted "$N")"
	atf_check "$CTL" delete b
	no_disk_left
	daemon_stop
}
bound_cleanup()
{
	daemon_cleanup
}

atf_test_case reboot cleanup
reboot_head()
{
	atf_set descr 'after the host has been down it is mounted again'
	atf_set timeout 600
}
reboot_body()
{
	world
	box -S 16M -i b
	N=$(number b)
	atf_check "$CTL" exec b sh -c 'echo kept >kept; sync'
	atf_check "$CTL" stop b
	daemon_stop
	umount "$STATE/mnt/$N" || atf_fail "umount"
	umount "$STATE/mnt" || atf_fail "umount of all"
	await '[ "$(loops)" = 0 ]' 240
	daemon_start
	# Whatever was below is not what it gets instead.
	atf_check "$CTL" resume b
	atf_check_equal 1 "$(mounted "$N")"
	atf_check -o inline:'kept\n' "$CTL" exec b cat kept
	# One that is mounted elsewhere is not mounted twice.
	atf_check "$CTL" stop b
	umount "$STATE/mnt/$N" || atf_fail "umount"
	await '[ "$(loops)" = 0 ]' 240
	flock -n "$STATE/work/$N.disk" sh -c "
	    '$CTL' resume b >out 2>err && exit 9
	    exit 0" || atf_fail "resumed"
	atf_check -o match:'mounted elsewhere' cat err
	atf_check "$CTL" delete b
	no_disk_left
	daemon_stop
}
reboot_cleanup()
{
	daemon_cleanup
}

# What is mounted in mnt is in mnt alone; then the next order finds it so.
apart()
{
	box -S 16M -i "$1" $2
	N=$(number "$1")
	atf_check_equal "0" "$(grep -c " $STATE/work/$N " /proc/mounts)"
	atf_check_equal "0 directory" "$(stat -c '%a %F' "$STATE/work/$N")"
	atf_check "$CTL" exec "$1" sh -c 'echo kept >kept'
	atf_check "$CTL" stop "$1"
	atf_check "$CTL" resume "$1"
	atf_check "$CTL" restart "$1"
	atf_check -o inline:'kept\n' "$CTL" exec "$1" cat kept
	atf_check_equal "0 directory" "$(stat -c '%a %F' "$STATE/work/$N")"
	atf_check_equal 1 "$(mounted "$N")"
	atf_check "$CTL" delete "$1"
}

atf_test_case shared cleanup
shared_head()
{
	atf_set descr 'where mounts hand on what is mounted on them'
	atf_set timeout 300
}
shared_body()
{
	daemon_use main
	# The proof that no root is asked for is not for this one.
	RECORDED=$SBX_ENGINE
	daemon_conf "policy { user root }"
	mkdir -p -m 711 "$STATE"
	mount --bind "$STATE" "$STATE" || atf_fail "no bind mount"
	mount --make-shared "$STATE" || atf_fail "cannot be shared"
	world
	apart b
	apart r "-u root"
	no_disk_left
	daemon_stop
	# As a version of before has left it, and its Engine's sandboxes.
	mount --bind "$STATE/work" "$STATE/mnt"
	mount -o remount,bind,nosuid,nodev "$STATE/mnt"
	daemon_start
	apart b2
	no_disk_left
	daemon_stop
}
shared_cleanup()
{
	daemon_cleanup
}

atf_test_case half cleanup
half_head()
{
	atf_set descr 'one that a crash left half made is made anew, or removed'
	atf_set timeout 300
}
half_body()
{
	world
	# The next number is the one whose file lies there half made.
	head -c 1000 /dev/urandom >"$STATE/work/1.disk.new"
	box -S 16M -i b
	atf_check_equal 1 "$(number b)"
	[ ! -e "$STATE/work/1.disk.new" ] || atf_fail "still half made"
	atf_check -o empty "$CTL" exec b ls -A /workspace
	atf_check "$CTL" delete b
	no_disk_left
	# Too large for the host: told, and nothing of it is left.
	atf_check -s not-exit:0 -o ignore -e match:'no room|that large' \
	    "$CTL" create -i big -S 16T
	atf_check "$CTL" delete big
	no_disk_left
	daemon_stop
}
half_cleanup()
{
	daemon_cleanup
}

atf_test_case quota cleanup
quota_head()
{
	atf_set descr 'limits per sandbox, per user and in all are told by name'
	atf_set timeout 300
}
quota_body()
{
	new_uid
	one=$NEW_UID
	world "allow any
		defaults { disk 16M readonly yes }
		limits { disk 48M per sandbox, 96M total }
		limits user $one { disk 20M per sandbox, 40M total }
		policy { image allow sandbox-base image allow sandbox-volume }"
	# What an image has beside its root has no bound.
	tar -cf - -T /dev/null | docker -H "unix://$ENGINE" import \
	    --change 'VOLUME /data' - sandbox-volume >/dev/null ||
	    atf_fail "import"
	atf_check -s not-exit:0 -o ignore -e match:'the image has volumes' \
	    "$CTL" create -i v -I sandbox-volume
	atf_check "$CTL" delete v
	atf_check -s not-exit:0 -o ignore -e match:'the image has volumes' \
	    "$CTL" create -i w -I sandbox-volume -M 1M
	atf_check "$CTL" delete w
	docker -H "unix://$ENGINE" image rm sandbox-volume >/dev/null ||
	    atf_fail "image rm"
	# The default, and as much as may be.
	box -i a
	atf_check -o match:'^disk +16M$' "$CTL" show a
	atf_check -s exit:75 -o ignore \
	    -e match:'disk: 67108864: the limit is 50331648' \
	    "$CTL" create -i b -S 64M
	box -i b -S 48M
	# One in memory is none of theirs.
	box -i m -M 1M
	atf_check "$CTL" delete m
	# One that is stopped has its files.
	atf_check "$CTL" stop b
	atf_check -s exit:75 -o ignore \
	    -e match:'disk: limit 100663296 in all, 67108864 in use' \
	    "$CTL" create -i c -S 48M
	his create -i u -S 20M || atf_fail "u: $(cat err)"
	refused create -S 24M
	grep -q 'disk: 25165824: the limit is 20971520' err ||
	    atf_fail "$(cat err)"
	atf_check "$CTL" delete b
	his create -i v -S 20M || atf_fail "v: $(cat err)"
	refused create -S 16M
	grep -q "disk: limit 41943040 for user $one, 41943040 in use" err ||
	    atf_fail "$(cat err)"
	his rules || atf_fail "rules: $(cat err)"
	atf_check -o match:'disk' cat out
	as_user "$one" "$CTL" delete u v || atf_fail "delete"
	atf_check "$CTL" delete a
	no_disk_left
	daemon_stop
}
quota_cleanup()
{
	daemon_cleanup
}

# Nothing of the sandbox numbered N lies where its workspace would be.
on_no_disk()
{
	atf_check_equal "0 directory" "$(stat -c '%a %F' "$STATE/work/$N")"
	atf_check_equal "$N" "$(ls "$STATE/work")"
	atf_check_equal "" "$(ls -A "$STATE/work/$N")"
	! grep -q " $STATE/mnt/" /proc/mounts ||
	    atf_fail "mounted: $(grep "$STATE/mnt/" /proc/mounts)"
}

atf_test_case memory cleanup
memory_head()
{
	atf_set descr 'a workspace in memory is on no disk, and is bounded'
	atf_set timeout 300
}
memory_body()
{
	world
	mkdir seed
	echo seeded >seed/f
	for o in "-M 65M" "-M 8M -S 16M"; do
		atf_check -s not-exit:0 -o ignore \
		    -e match:'invalid tmpfs: .*\((limit_exc|invalid_arg)' \
		    "$CTL" create -m 64M $o
	done
	box -M 8M -m 64M -C seed:src -i b
	N=$(number b)
	atf_check -o match:'^tmpfs +8M$' -o match:'^root +read-only$' \
	    -o match:'limit-disk +enforced' -o not-match:'^disk ' "$CTL" show b
	atf_check -o match:'"tmpfs":8388608' "$CTL" -j list
	atf_check -o match:'^tmpfs /workspace tmpfs rw,nosuid,nodev,relatime' \
	    "$CTL" exec b grep ' /workspace ' /proc/mounts
	# Some runtimes give it the mode of what it is mounted on.
	atf_check -o match:"^7[05][05] $(inside 'id -u')$" \
	    "$CTL" exec b stat -c '%a %u' /workspace
	# What it was given, and what commands and files do.
	atf_check -o inline:'seeded\n' "$CTL" cat b src/f
	inside "printf '#!/bin/sh\necho ran\n' >run && chmod +x run" ||
	    atf_fail "no command file"
	atf_check -o inline:'ran\n' "$CTL" exec b ./run
	"$CTL" watch b src >told 2>told.err &
	pid=$!
	await 'grep -q "^ready " told || ! kill -0 $pid'
	atf_check sh -c "echo other | '$CTL' put b - src/f"
	await 'grep -qx "closed f" told'
	kill $pid
	wait $pid
	atf_check -o match:src/f "$CTL" diff b
	atf_check -o save:out.tar "$CTL" export b src
	atf_check -o match:'f$' tar -tf out.tar
	on_no_disk
	# What is more is refused, as its memory is below that.
	atf_check -s exit:1 -e match:'No space left' -o ignore \
	    "$CTL" exec b sh -c 'dd if=/dev/zero of=full bs=1M count=64'
	atf_check -s not-exit:0 -e match:'no_space' sh -c \
	    "head -c 1000000 /dev/zero | '$CTL' put b - more"
	atf_check -s exit:75 -o ignore \
	    -e match:'invalid memory: the workspace is 8388608' \
	    "$CTL" update -m 7M b
	# A stop is the end of it, and of nothing else.
	atf_check "$CTL" restart b
	atf_check -o empty "$CTL" ls b
	atf_check "$CTL" exec b touch new
	atf_check "$CTL" stop b
	on_no_disk
	atf_check "$CTL" resume b
	atf_check -o empty "$CTL" ls b
	atf_check "$CTL" exec b touch new
	atf_check "$CTL" pause b
	atf_check "$CTL" unpause b
	daemon_stop
	daemon_start
	# The guest comes back when it does.
	await '"$CTL" ls b >names 2>err'
	atf_check -o inline:'new\n' cat names
	on_no_disk
	atf_check "$CTL" delete b
	nothing_left
	daemon_stop
}
memory_cleanup()
{
	daemon_cleanup
}

atf_init_test_cases()
{
	atf_add_test_case memory
	atf_add_test_case bound
	atf_add_test_case reboot
	atf_add_test_case shared
	atf_add_test_case half
	atf_add_test_case quota
}
