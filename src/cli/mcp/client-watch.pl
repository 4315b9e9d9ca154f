# Ends volley when its client has gone and it does not notice: a tool that never returns may hold its only thread.
# It shares the standard input of volley, and reads nothing from it. Descriptor 3 is a pipe from volley: it closes when
# volley ends, and a byte on it means that volley lives.
use strict;
use warnings;
# For poll(2), which the smallest installation of Perl has without the module IO::Poll.
use IO::Handle;

my ($volley, $grace_ms) = @ARGV;
my ($readable, $error, $hung_up) = (0x01, 0x08, 0x10);
# A socket of which the client has closed only its writing half, where the system tells.
my $half_closed = $^O eq 'linux' ? 0x2000 : 0;
my ($input, $control) = (0, 3);
open(my $pipe, '<&=', $control) or exit 1;

my $gone = 0;
while (1) {
  my @watched = ($control, $readable);
  push @watched, $input, $error | $hung_up | $half_closed unless $gone;
  my $count = IO::Poll::_poll($gone ? $grace_ms : -1, @watched);
  # Silence.
  last if $gone && $count == 0;
  next if $count < 0;
  # An end of the pipe is the end of volley.
  exit 0 if $watched[1] && !sysread($pipe, my $beat, 4096);
  $gone = 1 if !$gone && $watched[3];
}

exit 0 if getppid() != $volley;
my @family = descendants($volley);
kill 'KILL', $volley;
# What leads a group of its own takes that along.
kill 'KILL', map { ($_, -$_) } @family;

sub descendants {
  my ($root) = @_;
  my %children;
  for (split /\n/, `ps -A -o pid=,ppid=`) {
    push @{ $children{$2} }, $1 if /^\s*(\d+)\s+(\d+)/;
  }
  my @open = @{ $children{$root} // [] };
  my @found;
  while (defined(my $pid = shift @open)) {
    next if $pid == $$;
    push @found, $pid;
    push @open, @{ $children{$pid} // [] };
  }
  return @found;
}
