#!/usr/bin/perl -w
# Starts programs for a Node process that is too large to fork cheaply. It is run as one long-lived child and speaks
# the protocol below on its input and output; src/runners/process/helper-launcher.ts is the other side.
#
# The less memory this process has, the less each fork costs. Run as `launcher.pl x86_64` or `launcher.pl aarch64` it
# therefore loads no module (not even warnings.pm, for which -w stands in) and makes the calls of Linux that perl lacks
# by number. As `launcher.pl portable` it uses POSIX.pm, and cannot set limits.
#
# PROTOCOL. A frame is: length of the payload (32 bits, little endian), id of the launch (32 bits), type (one letter),
# payload.
#
#   to the helper
#     L launch       strings, each after its length (32 bits): directory; flags, of which `i` opens the input and `c`
#                    descriptor 3; id of the sandbox, if any; limits as `name=number …`; the number of cgroup files, and
#                    these; the number of arguments, and these; then the environment as NAME=value
#     B sandbox      the id is that of the sandbox; strings: id of a process in it; size of /tmp in bytes, or nothing if
#                    /tmp is a folder of the host; size of /dev/shm; `n` for a network of its own; then the mounts below
#                    /tmp
#     D drop         the id is that of the sandbox, which is used no more
#     W input        bytes for the program's input
#     E end of input
#     K kill         the number of the signal as a byte; goes to the whole group
#   from the helper
#     H hello        once, when it is ready; id 0
#     S started      process id (32 bits)
#     O, R, C data   bytes of its output, of its error output, of its descriptor 3
#     A accepted     how many bytes of input it took (32 bits); the other side keeps a bounded number on the way
#     X ended        wait status (32 bits), milliseconds of CPU time (32 bits), why it could not be started (text)
#
# The end of the helper's own input means that the other side is gone: everything that was launched is killed.

use strict;

sub OUT_LIMIT()   { 1 << 20 }    # above so many unsent bytes no output of programs is read
sub READ_SIZE()   { 1 << 16 }
sub LINGER()      { 0.5 }        # seconds for what remains of a group after its leader
sub TICK()        { 0.005 }      # seconds between looks at such remains
sub HOLD()        { 0.002 }      # seconds for which the news of a start may wait for company
sub NOT_STARTED() { 127 }        # exit status of a child whose reason is in the pipe for notes
sub UNUSED()      { "\1" }       # note of a child that leaves its network as it was made
sub SIGKILL()     { 9 }
sub WNOHANG()     { 1 }
sub RUSAGE_SIZE() { 144 }
sub F_GETFL()     { 3 }
sub F_SETFL()     { 4 }
sub AT_FDCWD()    { -100 }
sub O_PATH()      { 010000000 }
sub O_CLOEXEC()   { 02000000 }

# Of namespaces, mounts and privileges.
sub CLOSE_RANGE_CLOEXEC() { 4 }
sub CLONE_NEWNS()         { 0x00020000 }
sub CLONE_NEWCGROUP()     { 0x02000000 }
sub CLONE_NEWUTS()        { 0x04000000 }
sub CLONE_NEWIPC()        { 0x08000000 }
sub CLONE_NEWUSER()       { 0x10000000 }
sub CLONE_NEWPID()        { 0x20000000 }
sub CLONE_NEWNET()        { 0x40000000 }
sub NS_GET_USERNS()       { 0xb701 }
sub MS_RDONLY()           { 1 }
sub MS_NOSUID()           { 2 }
sub MS_NODEV()            { 4 }
sub MS_NOEXEC()           { 8 }
sub MS_REMOUNT()          { 32 }
sub MS_BIND()             { 4096 }
sub MS_REC()              { 16384 }
sub PR_SET_DUMPABLE()     { 4 }
sub PR_CAPBSET_DROP()     { 24 }
sub PR_SET_NO_NEW_PRIVS() { 38 }
sub PR_CAP_AMBIENT()      { 47 }
sub LAST_CAPABILITY()     { 63 }
sub EINVAL()              { 22 }

# Numbers of Linux system calls, and of its resource limits.
my %CALLS = (
    x86_64 => {
        prlimit => 302, prctl => 157, dup3 => 292, clock => 228, sigprocmask => 14, signalfd => 289, close => 3,
        close_range => 436, setns => 308, unshare => 272, mount => 165, capset => 126, exit_group => 231,
        pipe2 => 293, read => 0, wait4 => 61, openat => 257,
    },
    aarch64 => {
        prlimit => 261, prctl => 167, dup3 => 24, clock => 113, sigprocmask => 135, signalfd => 74, close => 57,
        close_range => 436, setns => 268, unshare => 97, mount => 40, capset => 91, exit_group => 94,
        pipe2 => 59, read => 63, wait4 => 260, openat => 56,
    },
);
my %RESOURCES = (cpu => 0, file => 1, data => 2, core => 4, processes => 6, open => 7);
my %SIGNALS = (HUP => 1, INT => 2, QUIT => 3, PIPE => 13, TERM => 15, CHLD => 17);

my $calls = $CALLS{ $ARGV[0] };    # undefined in the portable mode
my ($EINTR, $EAGAIN, $O_NONBLOCK, $has_clock) = (4, 11, 04000, 0);
if ($calls) {
    die "this perl is not made for $ARGV[0]\n" if $^O ne 'linux' || length pack('p', undef) != 8;
}
else {
    require POSIX;
    ($EINTR, $EAGAIN, $O_NONBLOCK) = (POSIX::EINTR(), POSIX::EAGAIN(), POSIX::O_NONBLOCK());
    $has_clock = eval { require Time::HiRes; 1 };
}

my %jobs;         # by id: what runs or still lingers
my %job_of;       # by process id: those whose leader has not been waited for
my %lingering;    # by id: the leader is gone, but its group or its streams are not
my @sources;      # by descriptor: [job, type of frame]
my @handles;      # by descriptor: those of outputs, in the portable mode
my $reading = ''; # descriptors to read, as select() takes them
my $writing = ''; # descriptors of inputs that are full
my $control = ''; # those of $reading that are read even if the other side is slow
my ($in, $out) = ('', '');
my $read = "\0" x READ_SIZE;    # what the kernel reads into
my $is_urgent = 0; # whether something in $out shall leave at once
my $waited_cpu = 0;
my $environment;
my %notes;        # by process id: why a program did not start, or UNUSED
my $has_strays = 0;    # whether there may be processes that nobody launched
my $own_pid = $$;
my $own_open;          # the limits for open files that this process had, as the kernel takes them
my %hard_limits;       # by name: what cannot be exceeded
my %limit_plans;       # by the text of the limits
my $has_close_range;
my %sandboxes;         # by id: what open_sandbox() gives
my $no_signals = pack 'Q', 0;
my $leader;            # in a child: its process id as the other side knows it

close_inherited();
open my $null, '+<', '/dev/null' or die "/dev/null: $!";
die "descriptor 3 is taken\n" if fileno $null != 3;
pipe my $note_reader, my $note_writer or die "pipe: $!";
set_nonblocking($_) for \*STDIN, \*STDOUT, $note_reader;
my $child_signals = set_up_system();
vec($control, $_, 1) = 1 for 0, $child_signals ? fileno $child_signals : ();
$reading = $control;
send_frame(0, 'H', '');
run();

sub run {
    while (1) {
        flush_out() if $is_urgent;
        my $readable = length $out > OUT_LIMIT ? $control : $reading;
        my $writable = $writing;
        vec($writable, 1, 1) = 1 if $is_urgent;
        my $wait = length $out && !$is_urgent ? HOLD : %lingering ? TICK : !$child_signals && %job_of ? 0.05 : undef;
        my $found = select $readable, $writable, undef, $wait;
        $is_urgent = 1 if $found == 0 && length $out;
        if ($found > 0) {
            handle_input() if vec $readable, 0, 1;
            write_inputs($writable) if length $writing;
            read_sources($readable);
        }
        reap() if !$child_signals || $found > 0 && vec $readable, fileno $child_signals, 1;
        look_at_lingering() if %lingering;
        kill_strays() if $has_strays && !%jobs;
    }
}

# ---- the other side

sub send_frame {
    my ($id, $type, $payload) = @_;
    $out .= pack('VVa', length $payload, $id, $type) . $payload;
    # That a program started is held back a little: the end of a short one then comes along, and the other side has to
    # wake up only once. Everything else takes it along at once.
    $is_urgent = 1 if $type ne 'S';
}

sub flush_out {
    while (length $out) {
        my $written = syswrite STDOUT, $out, 1 << 18;
        if (defined $written) { substr $out, 0, $written, '' }
        elsif ($! == $EAGAIN)  { return }
        elsif ($! != $EINTR)   { shut_down() }
    }
    $is_urgent = 0;
}

sub handle_input {
    my $count = sysread STDIN, $in, 1 << 18, length $in;
    return if !defined $count && ($! == $EAGAIN || $! == $EINTR);
    shut_down() if !$count;
    my $at = 0;
    while (length($in) - $at >= 9) {
        my ($length, $id, $type) = unpack 'VVa', substr $in, $at, 9;
        last if length($in) - $at - 9 < $length;
        my $payload = substr $in, $at + 9, $length;
        $at += 9 + $length;
        if ($type eq 'L') { launch($id, $payload); next }
        if ($type eq 'B') { $sandboxes{$id} = open_sandbox($payload); next }
        if ($type eq 'D') { delete $sandboxes{$id}; next }
        my $job = $jobs{$id} or next;
        if ($type eq 'K') { kill ord $payload, -$job->{pid} if $job->{group} }
        elsif ($type eq 'W') { take_input($job, $payload) }
        elsif ($type eq 'E') { $job->{at_end} = 1; write_input($job) }
    }
    substr $in, 0, $at, '' if $at;
}

# Kills everything that was launched, also what left its group, and ends.
sub shut_down {
    my $deadline = now() + 2;
    while (1) {
        kill SIGKILL, -$_->{pid} for grep { $_->{group} } values %jobs;
        kill_strays();
        1 while waitpid(-1, WNOHANG) > 0;
        exit 0 if waitpid(-1, WNOHANG) == -1 || now() > $deadline;
        select undef, undef, undef, TICK;
    }
}

# ---- launching

sub launch {
    my ($id, $payload) = @_;
    my ($cwd, $flags, $sandbox, $limits, @rest) = unpack '(V/a*)*', $payload;
    my @cgroups = splice @rest, 0, shift @rest;
    my @words   = splice @rest, 0, shift @rest;
    my @argv    = splice @rest, 0, shift @rest;
    my $names   = join "\0", @rest;
    if (!defined $environment || $environment ne $names) {
        # Set here and not in the child: most launches have the environment of the one before.
        %ENV = map { split /=/, $_, 2 } @rest;
        $environment = $names;
    }
    %limit_plans = () if keys %limit_plans > 100;
    my $plan = $calls ? ($limit_plans{$limits} //= plan_limits($limits)) : [];

    my ($kept, $network) = $sandboxes{$sandbox};
    if ($kept && $kept->{networks}) {
        $network = pop @{ $kept->{networks} } || make_network($kept);
        return refuse($id, "sandbox: $network") if !ref $network;
    }

    my @outputs = ('O', 'R', $flags =~ /c/ ? 'C' : ());
    my (@readers, @writers, $input_reader, $input_writer);
    for my $index (0 .. $#outputs) {
        next if ($readers[$index], $writers[$index]) = make_pipe();
        my $problem = $!;
        pop @readers, pop @writers;
        close_descriptor($_) for @readers, @writers;
        return refuse($id, "no pipe could be made: $problem");
    }
    my $has_input = $flags =~ /i/;
    my $pid;
    if (!$has_input || pipe $input_reader, $input_writer) {
        set_nonblocking($input_writer) if $has_input;
        $pid = fork;
    }
    if (!defined $pid) {
        my $problem = $!;
        close_descriptor($_) for @readers, @writers;
        return refuse($id, "no process could be made: $problem");
    }
    run_child($cwd, $sandbox, $network, $plan, \@cgroups, \@words, \@argv, fileno($input_reader || $null), @writers) if !$pid;
    close_descriptor($_) for @writers;

    # Also done by the child: whoever comes first makes the group before it is needed.
    setpgrp $pid, $pid;
    my $job = { id => $id, pid => $pid, group => 1, open => scalar @outputs };
    for my $index (0 .. $#outputs) {
        $sources[ $readers[$index] ] = [$job, $outputs[$index]];
        vec($reading, $readers[$index], 1) = 1;
    }
    if ($input_writer) { @$job{qw(input pending)} = ($input_writer, '') }
    if ($network) { @$job{qw(sandbox network)} = ($kept, $network) }
    $jobs{$id} = $job_of{$pid} = $job;
    send_frame($id, 'S', pack 'V', $pid);
    # Its input is sent only then.
    $is_urgent = 1 if $input_writer;
}

sub refuse {
    my ($id, $reason) = @_;
    send_frame($id, 'X', pack('VV', 0, 0) . $reason);
}

# Becomes the program. Whatever fails on the way is told through the pipe for notes.
sub run_child {
    my ($cwd, $sandbox, $network, $plan, $cgroups, $words, $argv, @streams) = @_;
    $leader = $$;
    setpgrp 0, 0;
    for my $file (@$cgroups) {
        open my $cgroup, '>', $file or fail_child("the cgroup $file cannot be entered: $!");
        defined syswrite $cgroup, $$ or fail_child("the cgroup $file cannot be entered: $!");
    }
    enter_sandbox($sandboxes{$sandbox}, $network) if length $sandbox;
    chdir $cwd or fail_child(length $sandbox ? "sandbox: $cwd: $!" : "the folder $cwd cannot be entered: $!");
    # Written out, because every sub has variables in other pages of memory.
    if ($calls) {
        # No source but $null, which comes first, is below 4.
        my ($dup3, $prlimit, $target) = (@$calls{qw(dup3 prlimit)}, 0);
        for (@streams) {
            fail_child("a stream cannot be opened: $!") if syscall($dup3, $_, $target++, 0) < 0;
        }
        die_with_helper() if !length $sandbox;
        for (@$plan) {
            fail_child("the limit $_->[0] cannot be set: $!") if syscall($prlimit, 0, $_->[1], $_->[2], 0) != 0;
        }
        if (length $sandbox) {
            # All of them are closed on exec anyway.
            syscall $calls->{close_range}, scalar @streams, 0x7fffffff, CLOSE_RANGE_CLOEXEC;
            drop_privileges();
        }
        # A signal that came in the meantime is delivered here.
        syscall $calls->{sigprocmask}, 2, $no_signals, 0, 8;
    }
    else {
        for my $target (0 .. $#streams) {
            fail_child("a stream cannot be opened: $!") if !POSIX::dup2($streams[$target], $target);
        }
        set_blocked_signals();
    }
    # No warning: the reason goes another way.
    $^W = 0;
    exec { $words->[0] } @$words if @$words;
    exec { $argv->[0] } @$argv or fail_child("$argv->[0]: $!");
}

# The death of this helper is the death of its child. It may have died before this call.
sub die_with_helper {
    syscall $calls->{prctl}, 1, SIGKILL, 0, 0, 0;
    exit NOT_STARTED if getppid != $own_pid;
}

sub fail_child {
    my ($reason) = @_;
    send_note($reason);
    end_now(NOT_STARTED);
}

# Tells this helper something about the launch that it cannot see.
sub send_note {
    my ($text) = @_;
    syswrite $note_writer, pack 'Vv/a*', $leader, substr $text, 0, 1000;
}

# Without the work that perl does at its end.
sub end_now {
    my ($status) = @_;
    syscall $calls->{exit_group}, $status if $calls;
    exit $status;
}

# ---- sandboxes
#
# bubblewrap makes the folders of a sandbox once. The mount namespace is kept here, by its descriptor, for all calls with
# the same folders. Each call gets namespaces of its own for processes, mounts, network, IPC, host name and users, a fresh
# /proc, /tmp, /dev/shm and /dev/pts, and no capabilities, as if bubblewrap had been started for it. To make a network
# takes as long as all other namespaces together and more, so one in which nothing was ever sent goes to a later call.

# Keeps the mount namespace of a process, and the user namespace that owns it.
sub open_sandbox {
    my ($pid, $tmp_size, $shm_size, $flags, @kept) = unpack '(V/a*)*', $_[0];
    my $sandbox = { tmp => $tmp_size, shm => $shm_size, kept => \@kept };
    # Those that no call uses.
    $sandbox->{networks} = [] if $flags =~ /n/;
    return { problem => 'this kernel has no close_range' } if !$has_close_range;
    open my $mounts, '<', "/proc/$pid/ns/mnt" or return { problem => "its mount namespace: $!" };
    my $users = ioctl $mounts, NS_GET_USERNS, 0 or return { problem => "its user namespace: $!" };
    open my $handle, '<&=', $users or return { problem => "its user namespace: $!" };
    return { %$sandbox, mounts => $mounts, users => $handle };
}

# Returns in the program's process. Two more stay outside of it, as with bubblewrap: this one, which waits for the first
# process of the namespace, and that first process, which waits for everything else.
sub enter_sandbox {
    my ($sandbox, $network) = @_;
    fail_child('sandbox: ' . ($sandbox ? $sandbox->{problem} : 'unknown')) if !$sandbox || $sandbox->{problem};
    my ($user, $group) = ($<, $( + 0);
    sysopen my $proc, '/proc', O_PATH | O_CLOEXEC or fail_sandbox('/proc');
    pipe my $go_reader, my $go_writer or fail_sandbox('pipe');
    enter_namespace($sandbox->{users}, CLONE_NEWUSER);
    enter_namespace($sandbox->{mounts}, CLONE_NEWNS);
    die_with_helper();
    # What this process remembers of other calls is not for the program.
    syscall $calls->{prctl}, PR_SET_DUMPABLE, 0, 0, 0, 0;
    enter_namespace($network, CLONE_NEWNET) if $network;
    my $namespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    syscall($calls->{unshare}, $namespaces) == 0 or fail_sandbox('unshare');

    my $first = fork // fail_sandbox('fork');
    if ($first) {
        syswrite $go_writer, '.';
        chdir $proc or end_now(NOT_STARTED);
        my $kept = fileno $note_writer;
        syscall $calls->{close_range}, 0, $kept - 1, 0;
        syscall $calls->{close_range}, $kept + 1, 0x7fffffff, 0;
        waitpid $first, 0;
        my $status = $? & 127 ? 128 + ($? & 127) : $? >> 8;
        # Every process of the call is gone.
        send_note(UNUSED) if $network && $status != NOT_STARTED && is_network_unused();
        end_now($status);
    }
    close $go_writer;
    mount_own_folders($sandbox);
    limit_users($proc, $user, $group);
    # Only now: a change of privileges may undo it.
    syscall $calls->{prctl}, 1, SIGKILL, 0, 0, 0;
    # Its parent may have died before that call.
    sysread $go_reader, my $go, 1 or end_now(NOT_STARTED);

    my $program = fork // fail_sandbox('fork');
    return if !$program;
    syscall $calls->{close_range}, 0, 0x7fffffff, 0;
    drop_capabilities();
    while ((my $pid = wait) != -1) {
        end_now($? & 127 ? 128 + ($? & 127) : $? >> 8) if $pid == $program;
    }
    end_now(NOT_STARTED);
}

sub fail_sandbox {
    my ($what) = @_;
    fail_child("sandbox: $what: $!");
}

sub enter_namespace {
    my ($handle, $kind) = @_;
    syscall($calls->{setns}, fileno $handle, $kind) == 0 or fail_sandbox('setns');
}

sub mount_own_folders {
    my ($sandbox) = @_;
    my $mask = umask 0;
    mount_at('proc', '/proc', 'proc', MS_NOSUID | MS_NODEV | MS_NOEXEC);
    # Root's uid alone is enough to write to these.
    for my $path ('/proc/sys', '/proc/sysrq-trigger', '/proc/irq', '/proc/bus') {
        next if !-e $path;
        mount_at($path, $path, '', MS_BIND | MS_REC);
        mount_at('', $path, '', MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC);
    }
    mount_at('tmpfs', '/dev/shm', 'tmpfs', MS_NOSUID | MS_NODEV, "mode=0755,size=$sandbox->{shm}");
    mount_at('devpts', '/dev/pts', 'devpts', MS_NOSUID | MS_NOEXEC, 'newinstance,ptmxmode=0666,mode=620');
    mount_tmp($sandbox) if length $sandbox->{tmp};
    umask $mask;
}

# An empty /tmp, in which the folders of the policy are mounted again.
sub mount_tmp {
    my ($sandbox) = @_;
    my @kept = map {
        sysopen my $handle, $_, O_PATH | O_CLOEXEC or fail_sandbox($_);
        [$_, $handle, -d $handle];
    } @{ $sandbox->{kept} };
    mount_at('tmpfs', '/tmp', 'tmpfs', MS_NOSUID | MS_NODEV, "mode=1777,size=$sandbox->{tmp}");
    for my $each (@kept) {
        my ($path, $handle, $is_folder) = @$each;
        make_folders($path =~ m{^(.*)/});
        if ($is_folder) { mkdir $path, 0755 }
        else            { open my $file, '>', $path or fail_sandbox($path) }
        mount_at('/proc/self/fd/' . fileno $handle, $path, '', MS_BIND | MS_REC);
    }
}

sub make_folders {
    my ($path) = @_;
    return if -d $path;
    make_folders($path =~ m{^(.*)/});
    mkdir $path, 0700 or fail_sandbox($path);
}

sub mount_at {
    my ($source, $target, $type, $flags, $options) = @_;
    $options //= '';
    syscall($calls->{mount}, $source, $target, $type, $flags, $options) == 0 or fail_sandbox($target);
}

# Makes a network with only a loopback interface. Returns its handle, or why that failed.
sub make_network {
    my ($sandbox) = @_;
    pipe my $reader, my $writer or return "pipe: $!";
    my $pid = fork // return "fork: $!";
    if (!$pid) {
        # The first note says how it went.
        ($leader, $note_writer) = ($$, $writer);
        enter_namespace($sandbox->{users}, CLONE_NEWUSER);
        die_with_helper();
        syscall($calls->{unshare}, CLONE_NEWNET) == 0 or fail_sandbox('unshare');
        raise_loopback();
        # Only then can the helper of an ordinary user open it.
        syscall $calls->{prctl}, PR_SET_DUMPABLE, 1, 0, 0, 0;
        send_note(UNUSED);
        select undef, undef, undef, undef;
    }
    close $writer;
    sysread $reader, my $note, 4096;
    my (undef, $result) = unpack 'Vv/a*', $note;
    my $is_made = defined $result && $result eq UNUSED && open my $network, '<', "/proc/$pid/ns/net";
    my $problem = $!;
    kill SIGKILL, $pid;
    return $network if $is_made;
    return !defined $result ? 'its network could not be made' : $result eq UNUSED ? "its network: $problem" : $result;
}

# Whether nothing was sent in the network of this process, and no socket is left in it. Its folder must be /proc.
sub is_network_unused {
    return read_file('self/net/dev') !~ /:.*[1-9]/ && read_file('self/net/sockstat') =~ /^sockets: used 0$/m;
}

sub raise_loopback {
    socket my $socket, 2, 2, 0 or fail_sandbox('loopback');
    my $request = pack 'a16 s x22', 'lo', 0x41;
    ioctl $socket, 0x8914, $request or fail_sandbox('loopback');
}

# The program has its user's id in a namespace that owns nothing, and can make no further one.
sub limit_users {
    my ($proc, $user, $group) = @_;
    my ($outer_user, $outer_group) = ($<, $( + 0);
    syscall($calls->{unshare}, CLONE_NEWUSER) == 0 or fail_sandbox('user namespace');
    # Only then do these files belong to this process.
    syscall $calls->{prctl}, PR_SET_DUMPABLE, 1, 0, 0, 0;
    write_to('/proc/self/setgroups', 'deny');
    write_to('/proc/self/uid_map', "$user $outer_user 1");
    write_to('/proc/self/gid_map', "$group $outer_group 1");
    syscall $calls->{prctl}, PR_SET_DUMPABLE, 0, 0, 0, 0;
    chdir $proc or fail_sandbox('/proc');
    write_to('sys/user/max_user_namespaces', '0');
    chdir '/';
}

sub write_to {
    my ($file, $text) = @_;
    open my $handle, '>', $file or fail_sandbox($file);
    defined syswrite $handle, $text or fail_sandbox($file);
}

# Without perl's own handles. Nothing if it cannot be read.
sub read_file {
    my ($file) = @_;
    my $descriptor = syscall $calls->{openat}, AT_FDCWD, $file, O_CLOEXEC, 0;
    my $count = $descriptor < 0 ? -1 : syscall $calls->{read}, $descriptor, $read, READ_SIZE;
    return $count > 0 ? substr $read, 0, $count : '';
}

sub drop_privileges {
    for my $capability (0 .. LAST_CAPABILITY) {
        next if syscall($calls->{prctl}, PR_CAPBSET_DROP, $capability, 0, 0, 0) == 0;
        last if $! == EINVAL;    # this kernel has no more
        fail_sandbox('capabilities');
    }
    syscall $calls->{prctl}, PR_CAP_AMBIENT, 4, 0, 0, 0;
    drop_capabilities();
}

sub drop_capabilities {
    my ($header, $none) = (pack('Ll', 0x20080522, 0), pack 'L6', (0) x 6);
    syscall($calls->{capset}, $header, $none) == 0 or fail_sandbox('capset');
    syscall($calls->{prctl}, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 or fail_sandbox('no_new_privs');
}

# ---- streams

sub read_sources {
    my ($readable) = @_;
    my $bits = unpack 'b*', $readable;
    my $descriptor = -1;
    while (($descriptor = index $bits, '1', $descriptor + 1) >= 0) {
        my $source = $sources[$descriptor] or next;
        my $count = $calls ? syscall $calls->{read}, $descriptor, $read, READ_SIZE
            : sysread($handles[$descriptor], $read, READ_SIZE) // -1;
        if ($count > 0) { send_frame($source->[0]{id}, $source->[1], substr $read, 0, $count) }
        elsif ($count == 0 || ($! != $EINTR && $! != $EAGAIN)) { close_source($descriptor) }
    }
}

sub close_source {
    my ($descriptor) = @_;
    my $job = $sources[$descriptor][0];
    close_descriptor($descriptor);
    $sources[$descriptor] = undef;
    vec($reading, $descriptor, 1) = 0;
    $job->{open}--;
    finish_if_over($job);
}

sub take_input {
    my ($job, $bytes) = @_;
    # A program that closed its input, or ended, takes all and uses nothing.
    return accept_input($job, length $bytes) if !$job->{input};
    $job->{pending} .= $bytes;
    write_input($job);
}

sub write_inputs {
    my ($writable) = @_;
    for my $job (values %jobs) {
        write_input($job) if $job->{input} && vec $writable, fileno $job->{input}, 1;
    }
}

sub write_input {
    my ($job) = @_;
    my $input = $job->{input} or return;
    while (length $job->{pending}) {
        my $written = syswrite $input, $job->{pending}, READ_SIZE;
        if ($written) {
            substr $job->{pending}, 0, $written, '';
            accept_input($job, $written);
        }
        elsif ($! == $EAGAIN) {
            vec($writing, fileno $input, 1) = 1;
            return;
        }
        elsif ($! != $EINTR) {
            accept_input($job, length $job->{pending});
            return close_input($job);
        }
    }
    vec($writing, fileno $input, 1) = 0;
    close_input($job) if $job->{at_end};
}

sub accept_input {
    my ($job, $count) = @_;
    send_frame($job->{id}, 'A', pack 'V', $count);
}

sub close_input {
    my ($job) = @_;
    my $input = delete $job->{input} or return;
    vec($writing, fileno $input, 1) = 0;
    close $input;
}

# ---- ends

sub reap {
    sysread $child_signals, my $seen, 4096 if $child_signals;
    while (my ($pid, $status, $cpu_ms) = wait_for_any()) {
        $has_strays = !!$calls;
        # Anything else came here when its own parent died.
        my $job = delete $job_of{$pid} or next;
        my $note = $job->{network} || $status == NOT_STARTED << 8 ? note_of($pid) : '';
        if ($note eq UNUSED) {
            push @{ $job->{sandbox}{networks} }, $job->{network};
            $note = '';
        }
        $job->{ending} = pack('VV', $status, $cpu_ms) . $note;
        close_input($job);
        $job->{group} = kill SIGKILL, -$pid;
        finish_if_over($job);
        $lingering{ $job->{id} } = now() + LINGER if $jobs{ $job->{id} };
    }
}

# Process id, wait status and CPU time of a child that ended, if there is one.
sub wait_for_any {
    if ($calls) {
        my ($status, $usage) = (pack('V', 0), "\0" x RUSAGE_SIZE);
        my $pid = syscall $calls->{wait4}, -1, $status, WNOHANG, $usage;
        return if $pid <= 0;
        my ($user, $user_micros, $system, $system_micros) = unpack 'q4', $usage;
        return ($pid, unpack('V', $status), ($user + $system) * 1000 + ($user_micros + $system_micros) / 1000);
    }
    my $pid = waitpid -1, WNOHANG;
    return if $pid <= 0;
    my $status = $?;
    my (undef, undef, $user, $system) = times;
    my $cpu = $user + $system - $waited_cpu;
    $waited_cpu += $cpu;
    return ($pid, $status, $cpu * 1000);
}

sub finish_if_over {
    my ($job) = @_;
    return if $job->{group} || $job->{open} || !exists $job->{ending};
    send_frame($job->{id}, 'X', $job->{ending});
    delete $lingering{ $job->{id} };
    delete $jobs{ $job->{id} };
}

# Waits for the rest of groups and for what still comes out of their pipes, but not for ever: a process that left its
# group can hold a pipe open as long as it likes.
sub look_at_lingering {
    my $now = now();
    for my $id (keys %lingering) {
        my $job = $jobs{$id};
        $job->{group} = kill SIGKILL, -$job->{pid} if $job->{group};
        if (length $out > OUT_LIMIT) { $lingering{$id} = $now + LINGER }
        elsif ($now > $lingering{$id}) {
            $job->{group} = 0;
            for my $descriptor (grep { $sources[$_] && $sources[$_][0] == $job } 0 .. $#sources) {
                close_source($descriptor);
            }
        }
        finish_if_over($job);
    }
}

sub note_of {
    my ($pid) = @_;
    my $records = '';
    1 while sysread $note_reader, $records, 4096, length $records;
    %notes = (%notes, unpack '(Vv/a*)*', $records) if length $records;
    return delete $notes{$pid} // '';
}

# Kills the children of this process, called when no launch needs them any more. The kernel gives it processes whose
# parents died, also if they left their group.
sub kill_strays {
    $has_strays = 0;
    open my $children, '<', "/proc/self/task/$$/children" or return;
    my $count = sysread $children, my $list, 65536;
    kill SIGKILL, split ' ', $list if $count;
}

# ---- the system

# Closes what this process was given besides its three streams: a program that inherited a folder of the host would find
# its way out of every sandbox through it. What is opened from here on is closed when a program starts.
sub close_inherited {
    $has_close_range = $calls && syscall($calls->{close_range}, 3, 0x7fffffff, 0) == 0;
    return if $has_close_range;
    # An old kernel, or another system.
    opendir my $list, -d '/proc/self/fd' ? '/proc/self/fd' : '/dev/fd' or return;
    my @descriptors = map { $_ + 0 } grep { /^\d+$/ && $_ > 2 } readdir $list;
    closedir $list;
    for my $descriptor (@descriptors) {
        if   ($calls) { syscall $calls->{close}, $descriptor }
        else          { POSIX::close($descriptor) }
    }
}

# Gives the descriptor that is readable when a child ended, where there is one.
sub set_up_system {
    # The other side decides when to end, not a terminal or a service manager. Blocked and not ignored, for programs
    # inherit what is ignored, and what comes between fork and exec waits for the program.
    set_blocked_signals(qw(HUP INT QUIT PIPE TERM));
    if (!$calls) {
        # So that it interrupts select().
        $SIG{CHLD} = sub { };
        return undef;
    }
    # No core files; as many descriptors as are allowed, which programs do not inherit.
    syscall $calls->{prlimit}, 0, $RESOURCES{core}, my $none = pack('QQ', 0, 0), 0;
    for my $name (keys %RESOURCES) {
        my $both = pack 'QQ', 0, 0;
        syscall $calls->{prlimit}, 0, $RESOURCES{$name}, 0, $both;
        $hard_limits{$name} = (unpack 'QQ', $both)[1];
        $own_open = $both if $name eq 'open';
    }
    my $most_open = pack 'QQ', ($hard_limits{open}) x 2;
    syscall $calls->{prlimit}, 0, $RESOURCES{open}, $most_open, 0;
    # Processes whose parents died become children of this one, so that it can see and end them.
    syscall $calls->{prctl}, 36, 1, 0, 0, 0;
    set_blocked_signals(qw(HUP INT QUIT PIPE TERM CHLD));
    my $awaited = pack 'Q', 1 << $SIGNALS{CHLD} - 1;
    my $descriptor = syscall $calls->{signalfd}, -1, $awaited, 8, $O_NONBLOCK | 02000000;
    die "signalfd: $!" if $descriptor < 0;
    open my $handle, '<&=', $descriptor or die "signalfd: $!";
    return $handle;
}

sub set_blocked_signals {
    my @names = @_;
    if ($calls) {
        my $mask = 0;
        $mask |= 1 << $SIGNALS{$_} - 1 for @names;
        syscall $calls->{sigprocmask}, 2, my $bits = pack('Q', $mask), 0, 8;
    }
    else {
        my @numbers = map { POSIX->can("SIG$_")->() } @names;
        POSIX::sigprocmask(POSIX::SIG_SETMASK(), POSIX::SigSet->new(@numbers));
    }
}

# What the child has to set: [name, resource, soft and hard limit]. Made here, once, because every page of memory that a
# child touches between fork and exec has to be copied.
sub plan_limits {
    my ($limits) = @_;
    my %wanted = $limits =~ /(\w+)=(\d+)/g;
    my @plan;
    for my $name (keys %wanted) {
        my ($resource, $most) = ($RESOURCES{$name}, $hard_limits{$name});
        my $soft = $wanted{$name} < $most ? $wanted{$name} : $most;
        # The CPU limit first warns with SIGXCPU, which ends a program that does not care, and a second later kills.
        my $hard = $name eq 'cpu' && $soft < $most ? $soft + 1 : $soft;
        push @plan, [$name, $resource, pack 'QQ', $soft, $hard];
    }
    push @plan, ['open', $RESOURCES{open}, $own_open] if !$wanted{open};
    return \@plan;
}

# A pipe as two descriptors that are closed on exec, without perl's own handles, each of which takes three more calls of
# the system. Nothing if it cannot be made.
sub make_pipe {
    if ($calls) {
        my $ends = pack 'll', 0, 0;
        return syscall($calls->{pipe2}, $ends, O_CLOEXEC) == 0 ? unpack 'll', $ends : ();
    }
    pipe my $reader, my $writer or return;
    $handles[fileno $_] = $_ for $reader, $writer;
    return (fileno $reader, fileno $writer);
}

sub close_descriptor {
    my ($descriptor) = @_;
    if   ($calls) { syscall $calls->{close}, $descriptor }
    else          { close $handles[$descriptor] }
}

sub set_nonblocking {
    my ($handle) = @_;
    fcntl $handle, F_SETFL, fcntl($handle, F_GETFL, 0) | $O_NONBLOCK or die "fcntl: $!";
}

sub now {
    return $has_clock ? Time::HiRes::time() : time if !$calls;
    my $moment = pack 'qq', 0, 0;
    syscall $calls->{clock}, 1, $moment;
    my ($seconds, $nanoseconds) = unpack 'qq', $moment;
    return $seconds + $nanoseconds / 1e9;
}
